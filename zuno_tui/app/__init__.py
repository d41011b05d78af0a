"""What can be done, under the desk and the command line alike: a topic a file."""

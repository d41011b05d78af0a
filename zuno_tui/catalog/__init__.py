"""How a command is declared, what can be asked, and where all commands are found."""

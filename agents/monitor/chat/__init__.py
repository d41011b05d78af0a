"""Questions in a Telegram chat, answered by whoever knows the facts; nothing else is started."""

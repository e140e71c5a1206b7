"""What runs and what is: processes, sockets, servers' answers, logs, the machine. Import the module that is needed."""

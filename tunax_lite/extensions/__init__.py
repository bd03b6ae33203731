"""What is built on the model and can be taken away: the registry finds each folder, nothing else names it."""

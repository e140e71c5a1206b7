"""The verbs: the only place where the rooms meet. Import the module of the verb."""

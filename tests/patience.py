"""How long tests wait before they take something to hang. No test fails because a machine is slow."""

PATIENCE = 600.0  # seconds

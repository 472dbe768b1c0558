"""Reading what servers answer: pages into text and links, robots.txt into verdicts."""

"""What a crawl meets that means it no good: servers, files and processes. Each attack is a small named thing."""

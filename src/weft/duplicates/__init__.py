"""What a crawl has more than once: pages that are the same or almost so, and sites that are copies of one another."""

"""truelabel with the libraries people train in."""

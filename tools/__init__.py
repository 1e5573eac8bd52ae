"""What the maintainer runs: build the book, find a browser, look at the finished site."""

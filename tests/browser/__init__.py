"""The site as people meet it: real pages from a live server, in a real Chromium."""

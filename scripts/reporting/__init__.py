"""Reports: what the runs of an experiment say, as Markdown, CSV, pictures and a page."""

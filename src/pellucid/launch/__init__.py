"""Running a whole program under a recording: what ``pellucid run`` execs."""

"""Submissions to marks: `labkit grade`. See docs/grading.md for what a mark means and how it is made."""

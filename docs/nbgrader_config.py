"""nbgrader on labkit's labs: put this file into the course directory. What each line is for: nbgrader.md, beside it."""

c = get_config()  # noqa: F821  nbgrader's own

c.CourseDirectory.course_id = "labs"
c.ClearSolutions.enabled = False  # the labs are blank already, and their stubs say what to write
c.Execute.timeout = 120  # seconds a cell; experiments on four ranks may need more than nbgrader's 30

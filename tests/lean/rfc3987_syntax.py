"""In the way of the real one, on the path of every process that a test starts.

jsonschema imports rfc3987_syntax, which compiles a grammar for 0.9 s, whenever nbformat is imported; it checks
internationalised web addresses, and a notebook holds none that is checked. jsonschema does without it.
"""

raise ImportError("left out of the tests: it takes 0.9 s in each process that reads a notebook")

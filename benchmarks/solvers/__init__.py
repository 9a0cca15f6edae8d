"""How fast does each solver reach a given duality gap, and at what cost in time and memory?"""

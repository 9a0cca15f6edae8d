"""How long does sparse gradient learning take, against the paper's algorithm and by size?"""

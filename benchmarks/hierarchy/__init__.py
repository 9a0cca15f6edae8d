"""Does the search over 4^256 kernels find the hull, with which certificate, at what cost?"""

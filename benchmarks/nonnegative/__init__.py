"""Densities that are never negative: how long, how much memory, how good with few features?"""

é = 'ß\N{BULLET}\ud800' # “
�
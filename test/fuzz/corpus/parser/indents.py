if a:
	b;
  # c

	if d: \
  e
else :
 pass
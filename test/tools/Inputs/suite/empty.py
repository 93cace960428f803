doc = "no claims"

"""Speed and memory of the kit, as ratios against a floor that is written down beside them."""

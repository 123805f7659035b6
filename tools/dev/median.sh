# The median of measured values, and the interval that holds the true one with 95 %. Sourced, not run.

# median_interval: numbers on standard input, one a line; prints median, low and high. The interval reaches from the
# k-th value to the k-th last, by the binomial law, whatever the distribution; with fewer than six values it holds less.
median_interval() {
  sort -g | awk '{ v[NR] = $1 } END {
    term = 0.5 ^ NR; below = term; k = 0
    while (below <= 0.025) { k++; term *= (NR - k + 1) / k; below += term }
    if (k == 0) k = 1
    print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2), v[k], v[NR + 1 - k] }'
}

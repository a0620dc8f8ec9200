"""metrics.mean_of_means"""

# %% right: reference
shares = [c / n for c, n in zip(three.right, three.counts)]
reported = sum(shares) / 3
pooled = sum(three.right) / sum(three.counts)

# %% right: by the formula
from labkit.metrics import mean_of_means_bias

shares = np.array(three.right) / np.array(three.counts)
reported = round(float(shares.mean()), 3)
pooled = round(float(shares.mean()) - mean_of_means_bias(three.counts, shares), 3)

# %% wrong: the two change places -> card: did the two change places
pooled = sum(c / n for c, n in zip(three.right, three.counts)) / 3
reported = sum(three.right) / sum(three.counts)

# %% wrong: both the mean of means -> card: the mean of the ranks' accuracies
reported = sum(c / n for c, n in zip(three.right, three.counts)) / 3
pooled = reported

# %% wrong: both pooled -> card: the accuracy over all samples
reported = sum(three.right) / sum(three.counts)
pooled = reported

# %% wrong: the largest rank decides -> card: the accuracy of the largest rank
shares = [c / n for c, n in zip(three.right, three.counts)]
reported = sum(shares) / 3
pooled = shares[three.counts.index(max(three.counts))]

# %% wrong: small ranks weigh more -> card: small ranks weigh more
shares = [c / n for c, n in zip(three.right, three.counts)]
reported = sum(shares) / 3
pooled = sum(s / n for s, n in zip(shares, three.counts)) / sum(1 / n for n in three.counts)

# %% wrong: percent -> card: give shares
reported = 100 * sum(c / n for c, n in zip(three.right, three.counts)) / 3
pooled = 100 * sum(three.right) / sum(three.counts)

# %% wrong: words -> card: both answers are numbers
reported = "better"
pooled = "worse"

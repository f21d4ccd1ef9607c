# Fits a model of an R package to runs and predicts at new inputs; called by genbayes_bench.rivals.r_bridge.
#
# In the working directory: X.csv, y.csv and X_new.csv, numbers without header, come in; prediction.csv goes out, with
# mean, variance of the latent function and variance of the noise, or where the package does not tell the two apart,
# mean and their sum. Arguments: seed, model, package, then name=value for each setting. Exit codes: 3 for a missing
# package, 1 for any other error, whose message is the last line on the error stream.

MISSING_PACKAGE <- 3

HETGP_KERNELS <- c("matern52" = "Matern5_2", "squared-exponential" = "Gaussian")
DEEPGP_KERNELS <- c("matern52" = "matern", "squared-exponential" = "exp2")

fit_predict <- list(
  homgp = function(X, y, X_new, settings) {
    model <- hetGP::mleHomGP(X = X, Z = y, covtype = HETGP_KERNELS[[settings$kernel]])
    there <- stats::predict(model, x = X_new)
    cbind(there$mean, there$sd2, there$nugs)
  },
  hetgp = function(X, y, X_new, settings) {
    model <- hetGP::mleHetGP(X = X, Z = y, covtype = HETGP_KERNELS[[settings$kernel]])
    there <- stats::predict(model, x = X_new)
    cbind(there$mean, there$sd2, there$nugs)
  },
  deepgp = function(X, y, X_new, settings) {
    n_samples <- as.numeric(settings$n_samples)
    n_burn_in <- as.numeric(settings$n_burn_in)
    thinning <- as.numeric(settings$thinning)
    nugget <- if (is.null(settings$nugget)) NULL else as.numeric(settings$nugget)
    fit <- deepgp::fit_two_layer(
      x = X, y = y, nmcmc = n_burn_in + n_samples * thinning, verb = FALSE,
      cov = DEEPGP_KERNELS[[settings$kernel]], v = 2.5, true_g = nugget
    )
    fit <- deepgp::trim(fit, burn = n_burn_in, thin = thinning)
    there <- stats::predict(fit, x_new = X_new, lite = TRUE, cores = 1)
    # s2 holds the nugget; the outer variance is tau2_y since version 1.2 and was tau2 before
    tau2 <- if (is.null(fit[["tau2_y"]])) fit[["tau2"]] else fit[["tau2_y"]]
    noise <- mean(tau2 * fit[["g"]])
    latent <- pmax(0, there[["s2"]] - noise) # below 0 by rounding only
    cbind(as.numeric(there[["mean"]]), latent, noise)
  },
  lagp = function(X, y, X_new, settings) {
    there <- laGP::aGPsep(
      X = X, Z = y, XX = X_new, end = min(as.numeric(settings$n_neighbours), nrow(X) - 1),
      g = laGP::garg(list(mle = TRUE), y), omp.threads = 1, verb = 0 # length scales are estimated by default
    )
    cbind(there$mean, there$var)
  },
  rgasp = function(X, y, X_new, settings) {
    # rgasp prints its progress
    invisible(utils::capture.output(
      model <- RobustGaSP::rgasp(design = X, response = y, nugget.est = settings$noise == "estimated")
    ))
    there <- RobustGaSP::predict(model, X_new)
    cbind(there$mean, there$sd^2)
  },
  vecchia = function(X, y, X_new, settings) scaled_vecchia(X, y, X_new)
)

# Row numbers, each the farthest from those before it, from the middle on.
order_maximin <- function(W) {
  columns <- t(W)
  order <- integer(nrow(W))
  order[1] <- which.min(colSums((columns - rowMeans(columns))^2))
  nearest <- rep(Inf, nrow(W))
  for (i in seq_len(nrow(W) - 1)) {
    nearest <- pmin(nearest, colSums((columns - columns[, order[i]])^2))
    nearest[order[i]] <- -1
    order[i + 1] <- which.max(nearest)
  }
  order
}

# Scaled Vecchia (Katzfuss, Guinness & Lawrence 2022) by the functions of GpGp: inputs are ordered and neighbours found
# in units of the length scales, which are estimated by Fisher scoring from few neighbours first and then from more. A
# linear trend and Matern-5/2, as in the authors' own comparison; predictions condition on 140 neighbours.
scaled_vecchia <- function(X, y, X_new) {
  covariance <- "matern25_scaledim"
  trend <- function(X) cbind(1, X)
  scales <- rep(0.5, ncol(X))
  parameters <- c(stats::var(y), scales, 0.01)
  for (m in c(10, 30)) {
    W <- t(t(X) / scales)
    order <- order_maximin(W)
    near <- GpGp::find_ordered_nn(W[order, , drop = FALSE], m)
    fit <- GpGp::fit_model(
      y[order], X[order, , drop = FALSE], trend(X)[order, , drop = FALSE], covariance,
      NNarray = near, reorder = FALSE, start_parms = parameters, m_seq = m, silent = TRUE, max_iter = 32
    )
    parameters <- fit$covparms
    scales <- pmin(parameters[1 + seq_len(ncol(X))], 1e6)
  }
  # in scaled inputs, all length scales being one, so that the neighbours of a prediction are the right ones
  scaled <- c(parameters[[1]], rep(1, ncol(X)), parameters[[length(parameters)]])
  W <- t(t(X) / scales)
  W_new <- t(t(X_new) / scales)
  m <- min(140, nrow(X) - 1)
  beta <- fit$betahat
  residual <- y - as.numeric(trend(X) %*% beta)
  found <- FNN::get.knnx(W, W_new, k = m)$nn.index
  answer <- matrix(0, nrow(X_new), 3)
  covary <- getExportedValue("GpGp", covariance)
  for (i in seq_len(nrow(X_new))) {
    rows <- rev(found[i, ])
    K <- covary(scaled, rbind(W[rows, , drop = FALSE], W_new[i, ])) # with the nugget on its diagonal
    root <- chol(K[-(m + 1), -(m + 1)])
    half <- backsolve(root, cbind(K[-(m + 1), m + 1], residual[rows]), transpose = TRUE)
    answer[i, 1] <- sum(half[, 1] * half[, 2])
    noise <- scaled[[1]] * scaled[[length(scaled)]]
    answer[i, 2] <- max(K[m + 1, m + 1] - noise - sum(half[, 1]^2), 0)
    answer[i, 3] <- noise
  }
  answer[, 1] <- answer[, 1] + as.numeric(trend(X_new) %*% beta)
  answer
}

read_numbers <- function(file) {
  unname(as.matrix(utils::read.csv(file, header = FALSE, colClasses = "numeric")))
}

write_numbers <- function(table, file) {
  writeLines(apply(table, 1, function(row) paste(sprintf("%.17g", row), collapse = ",")), file)
}

read_settings <- function(words) {
  halves <- strsplit(words, "=", fixed = TRUE)
  stats::setNames(lapply(halves, `[[`, 2), vapply(halves, `[[`, "", 1))
}

main <- function(arguments) {
  package <- arguments[[3]]
  if (!nzchar(system.file(package = package))) quit(save = "no", status = MISSING_PACKAGE)
  loadNamespace(package)
  X <- read_numbers("X.csv")
  y <- read_numbers("y.csv")[, 1]
  X_new <- read_numbers("X_new.csv")
  set.seed(as.integer(arguments[[1]]))
  write_numbers(fit_predict[[arguments[[2]]]](X, y, X_new, read_settings(arguments[-(1:3)])), "prediction.csv")
}

options(warn = 1) # warnings at once, so that an error's message comes last
tryCatch(main(commandArgs(trailingOnly = TRUE)), error = function(error) {
  message(gsub("\\s+", " ", conditionMessage(error)))
  quit(save = "no", status = 1)
})

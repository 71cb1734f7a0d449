#include "eval/minder/summary_distance.h"

#include <eigen3/Eigen/Cholesky>

namespace lockstep {
namespace {

constexpr int kFeatures = 4;

// Each feature is divided by its deviation over machines, so that the ridge means the same to all of them.
Eigen::MatrixXd Features(const Eigen::MatrixXf& windows) {
  constexpr double kTiny = 1e-12;
  const Eigen::ArrayXXd x = windows.cast<double>().array();
  const Eigen::ArrayXd mean = x.rowwise().mean();
  const Eigen::ArrayXXd centred = x.colwise() - mean;
  const Eigen::ArrayXd variance = centred.square().rowwise().mean();
  const Eigen::ArrayXd third = centred.cube().rowwise().mean();
  const Eigen::ArrayXd fourth = centred.square().square().rowwise().mean();
  Eigen::MatrixXd features(windows.rows(), kFeatures);
  features.col(0) = mean;
  features.col(1) = variance;
  features.col(2) = (variance > kTiny).select(third / (variance * variance.sqrt()), 0.0);
  features.col(3) = (variance > kTiny).select(fourth / variance.square(), 0.0);
  for (int i = 0; i < kFeatures; ++i) {
    features.col(i).array() -= features.col(i).mean();
    const double deviation = features.col(i).norm();
    if (deviation > kTiny) features.col(i) /= deviation;
  }
  return features;
}

}  // namespace

Eigen::ArrayXd SummaryDistances(const Eigen::MatrixXf& windows) {
  if (windows.rows() == 0) return {};
  const Eigen::MatrixXd features = Features(windows);
  Eigen::Matrix4d covariance = features.transpose() * features;
  const double ridge = kRidge * covariance.trace() / kFeatures;
  if (!(ridge > 0)) return Eigen::ArrayXd::Zero(windows.rows());
  covariance.diagonal().array() += ridge;
  const Eigen::LLT<Eigen::Matrix4d> factor(covariance);
  const Eigen::MatrixXd whitened = factor.matrixL().solve(features.transpose());
  return whitened.colwise().norm().transpose().array();
}

}  // namespace lockstep

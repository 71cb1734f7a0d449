// A small data-parallel and tensor-parallel training job: the real load on which Lockstep is shown and tested.
//
// Every rank holds one half of the hidden layer of a perceptron (split over a pair of ranks) and sees its own share of
// the batch (split over the pairs). A step is
//   1. pause, as for an input pipeline, and read the next batch from a file;
//   2. forward through the own half; Allreduce of the partial outputs inside the pair;
//   3. backward through the own half; Allreduce of the gradients over MPI_COMM_WORLD; update.
// So a slow rank delays its pair in step 2 and everyone in step 3: the effect crosses groups.
//
//   mpirun --oversubscribe --bind-to none -n 4 train --seconds 60 --slow-file FILE
//
// Sized for 4 ranks on 2 otherwise idle cores: about 28 ms of matrix work per rank, 5 ms of pause and what the ranks
// take from each other make a step of about 75 ms; 1.5 times the work costs the whole job 10 to 15 ms per step. Work
// dominates the pause on purpose: a pause that all ranks share only dilutes what one of them does more.
//
// With --fail-code N a rank that gets SIGUSR1 ends at once with exit code N, as a program does whose own check failed.
//
// FILE, looked at once per step, holds "RANK FACTOR": that rank then really does FACTOR times the matrix work. An empty
// or missing file means a healthy job. Ranks come in pairs: run it with an even number.

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <string>
#include <vector>

#include "base/random.h"

// Open MPI waits by spinning and, when it runs more ranks than cores, by calling sched_yield in between. Yielding still
// takes most of a core from ranks that compute, so that with 4 ranks on 2 cores the timing of a step would be noise.
// This process sleeps instead of yielding: collectives stay plain blocking calls and waiting costs almost nothing.
extern "C" int sched_yield() {
  constexpr long kNapNs = 100'000;
  const timespec nap = {0, kNapNs};
  nanosleep(&nap, nullptr);
  return 0;
}

namespace lockstep {
namespace {

using Matrix = Eigen::MatrixXf;

constexpr int kChunks = 8;         // a batch is worked through in this many pieces
constexpr int kStoredBatches = 8;  // the data set of one rank
constexpr int kPairSize = 2;
constexpr uint64_t kDataSeed = 1000;
constexpr uint64_t kModelSeed = 1;
constexpr uint64_t kTeacherSeed = 2;

struct Options {
  double seconds = 30;
  long steps = 0;    // 0 = until `seconds` have passed
  int width = 512;   // hidden units, both halves together
  int batch = 3072;  // samples of one pair and step
  int inputs = 128;
  int outputs = 32;
  double pause_ms = 5;
  double learning_rate = 0.02;
  long print_every = 50;
  int fail_code = 0;  // 0 = SIGUSR1 means nothing to this program
  std::string slow_file;
  std::string own_times_file;  // rank R writes its own milliseconds of each step to FILE.R
};

double NowSeconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Pause(double milliseconds) {
  timespec pause;
  pause.tv_sec = static_cast<time_t>(milliseconds / 1000);
  pause.tv_nsec = static_cast<long>((milliseconds - 1000.0 * static_cast<double>(pause.tv_sec)) * 1e6);
  nanosleep(&pause, nullptr);
}

Matrix RandomMatrix(int rows, int columns, uint64_t seed, float scale) {
  Random random(seed);
  Matrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = scale * static_cast<float>(2 * random.Unit() - 1);
  }
  return matrix;
}

// The factor of matrix work that the control file asks of `rank`; 1 = healthy.
double WorkFactor(const std::string& file, int rank) {
  char text[64];
  const int fd = file.empty() ? -1 : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 1;
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return 1;
  text[length] = '\0';
  int slow_rank = -1;
  double factor = 1;
  return sscanf(text, "%d %lf", &slow_rank, &factor) == 2 && slow_rank == rank ? factor : 1;
}

// The data of one pair, in a file without a name. Inputs and the teacher's answers, batch after batch.
class DataSet {
 public:
  DataSet(const Options& options, int pair) : options_(options), file_(tmpfile()) {
    if (file_ == nullptr) abort();
    const Matrix teacher = RandomMatrix(options.outputs, options.inputs, kTeacherSeed, 0.3F);
    for (int i = 0; i < kStoredBatches; ++i) {
      const uint64_t seed = kDataSeed + static_cast<uint64_t>(pair * kStoredBatches + i);
      const Matrix x = RandomMatrix(options.inputs, options.batch, seed, 1);
      const Matrix y = (teacher * x).array().tanh().matrix();
      Write(x);
      Write(y);
    }
    fflush(file_);
  }
  ~DataSet() { fclose(file_); }
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;

  void Read(long step, Matrix* x, Matrix* y) const {
    x->resize(options_.inputs, options_.batch);
    y->resize(options_.outputs, options_.batch);
    const off_t bytes = static_cast<off_t>(sizeof(float)) * (x->size() + y->size());
    const off_t at = bytes * (step % kStoredBatches);
    ReadAt(at, x);
    ReadAt(at + static_cast<off_t>(sizeof(float)) * x->size(), y);
  }

 private:
  void Write(const Matrix& matrix) { fwrite(matrix.data(), sizeof(float), static_cast<size_t>(matrix.size()), file_); }
  void ReadAt(off_t at, Matrix* matrix) const {
    const size_t bytes = sizeof(float) * static_cast<size_t>(matrix->size());
    if (pread(fileno(file_), matrix->data(), bytes, at) != static_cast<ssize_t>(bytes)) abort();
  }

  const Options& options_;
  FILE* const file_;
};

// One half of the perceptron y = W2 relu(W1 x): half of the hidden units, and all that depends on them.
class HalfModel {
 public:
  HalfModel(const Options& options, int half)
      : units_(options.width / kPairSize),
        w1_(RandomMatrix(units_, options.inputs, kModelSeed + 2 * static_cast<uint64_t>(half), 0.15F)),
        w2_(RandomMatrix(options.outputs, units_, kModelSeed + 2 * static_cast<uint64_t>(half) + 1, 0.08F)) {}

  // The contribution of this half to the outputs. Chunks beyond kChunks are worked again: real work, same result.
  void Forward(const Matrix& x, int chunks, Matrix* hidden, Matrix* partial_outputs) const {
    hidden->resize(units_, x.cols());
    partial_outputs->resize(w2_.rows(), x.cols());
    const Eigen::Index columns = x.cols() / kChunks;
    for (int i = 0; i < chunks; ++i) {
      const Eigen::Index first = (i % kChunks) * columns;
      hidden->middleCols(first, columns).noalias() = w1_ * x.middleCols(first, columns);
      hidden->middleCols(first, columns) = hidden->middleCols(first, columns).cwiseMax(0.0F);
      partial_outputs->middleCols(first, columns).noalias() = w2_ * hidden->middleCols(first, columns);
    }
  }

  // Gradients of the mean squared error by this half's weights.
  void Backward(const Matrix& x, const Matrix& hidden, const Matrix& error, int chunks, Matrix* d_w1,
                Matrix* d_w2) const {
    *d_w1 = Matrix::Zero(w1_.rows(), w1_.cols());
    *d_w2 = Matrix::Zero(w2_.rows(), w2_.cols());
    Matrix repeated_w1 = *d_w1;
    Matrix repeated_w2 = *d_w2;
    const Eigen::Index columns = x.cols() / kChunks;
    for (int i = 0; i < chunks; ++i) {
      const Eigen::Index first = (i % kChunks) * columns;
      const auto h = hidden.middleCols(first, columns);
      const auto e = error.middleCols(first, columns);
      const Matrix d_hidden = (w2_.transpose() * e).array() * (h.array() > 0.0F).cast<float>();
      (i < kChunks ? d_w2 : &repeated_w2)->noalias() += e * h.transpose();
      (i < kChunks ? d_w1 : &repeated_w1)->noalias() += d_hidden * x.middleCols(first, columns).transpose();
    }
  }

  void Update(const float* d_w1, const float* d_w2, float rate) {
    w1_ -= rate * Eigen::Map<const Matrix>(d_w1, w1_.rows(), w1_.cols());
    w2_ -= rate * Eigen::Map<const Matrix>(d_w2, w2_.rows(), w2_.cols());
  }

  Eigen::Index parameters() const { return w1_.size() + w2_.size(); }
  Eigen::Index first_layer_parameters() const { return w1_.size(); }

 private:
  const int units_;
  Matrix w1_;
  Matrix w2_;
};

// Runs the steps on one rank.
class Trainer {
 public:
  Trainer(const Options& options, int rank, int ranks, MPI_Comm pair)
      : options_(options),
        rank_(rank),
        pairs_(ranks / kPairSize),
        half_(rank % kPairSize),
        pair_(pair),
        data_(options, rank / kPairSize),
        model_(options, half_),
        exchanged_(static_cast<size_t>(kPairSize * model_.parameters()) + kExtraValues) {}

  void Run() {
    const double began = NowSeconds();
    left_collective_ = began;
    for (long step = 0;; ++step) {
      const double before = NowSeconds();
      const bool time_is_up = options_.steps > 0 ? step + 1 >= options_.steps : before - began >= options_.seconds;
      const bool is_last = Step(step, time_is_up);
      step_ms_.push_back((NowSeconds() - before) * 1e3);
      if (rank_ == 0 && (step % options_.print_every == 0 || is_last)) {
        printf("step %ld loss %.5f step_ms %.1f\n", step, loss_, step_ms_.back());
        fflush(stdout);
      }
      if (is_last) break;
    }
    Report();
  }

 private:
  static constexpr size_t kExtraValues = 2;  // loss, stop

  // True = all ranks agree that this was the last step.
  bool Step(long step, bool time_is_up) {
    const int chunks = static_cast<int>(std::lround(kChunks * WorkFactor(options_.slow_file, rank_)));
    Pause(options_.pause_ms);
    data_.Read(step, &x_, &y_);
    model_.Forward(x_, chunks, &hidden_, &outputs_);

    double own_ms = (NowSeconds() - left_collective_) * 1e3;
    MPI_Allreduce(MPI_IN_PLACE, outputs_.data(), static_cast<int>(outputs_.size()), MPI_FLOAT, MPI_SUM, pair_);
    left_collective_ = NowSeconds();

    outputs_ = (outputs_ - y_) / static_cast<float>(x_.cols());
    const float square_error = outputs_.squaredNorm() * static_cast<float>(x_.cols());
    model_.Backward(x_, hidden_, outputs_, chunks, &d_w1_, &d_w2_);
    Pack(square_error, time_is_up);

    own_ms += (NowSeconds() - left_collective_) * 1e3;
    own_ms_.push_back(own_ms);
    MPI_Allreduce(MPI_IN_PLACE, exchanged_.data(), static_cast<int>(exchanged_.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    left_collective_ = NowSeconds();
    return Unpack();
  }

  // Every rank contributes to its half of the gradients and zeros to the other.
  void Pack(float square_error, bool time_is_up) {
    std::fill(exchanged_.begin(), exchanged_.end(), 0.0F);
    float* own = exchanged_.data() + half_ * model_.parameters();
    std::copy_n(d_w1_.data(), d_w1_.size(), own);
    std::copy_n(d_w2_.data(), d_w2_.size(), own + d_w1_.size());
    float* extra = exchanged_.data() + kPairSize * model_.parameters();
    extra[0] = square_error / static_cast<float>(options_.outputs * kPairSize * pairs_);
    extra[1] = rank_ == 0 && time_is_up ? 1.0F : 0.0F;
  }

  bool Unpack() {
    const float* own = exchanged_.data() + half_ * model_.parameters();
    const auto rate = static_cast<float>(options_.learning_rate / pairs_);
    model_.Update(own, own + model_.first_layer_parameters(), rate);
    const float* extra = exchanged_.data() + kPairSize * model_.parameters();
    loss_ = extra[0];
    return extra[1] > 0;
  }

  void Report() {
    if (!options_.own_times_file.empty()) {
      FILE* file = fopen((options_.own_times_file + "." + std::to_string(rank_)).c_str(), "w");
      if (file == nullptr) abort();
      for (double own_ms : own_ms_) fprintf(file, "%.3f\n", own_ms);
      fclose(file);
    }
    if (rank_ != 0) return;
    double sum_ms = 0;
    for (double ms : step_ms_) sum_ms += ms;
    std::vector<double> sorted = step_ms_;
    std::sort(sorted.begin(), sorted.end());
    printf("done steps %zu mean_step_ms %.4f median_step_ms %.4f\n", sorted.size(),
           sum_ms / static_cast<double>(sorted.size()), sorted[sorted.size() / 2]);
  }

  const Options& options_;
  const int rank_;
  const int pairs_;
  const int half_;
  const MPI_Comm pair_;
  const DataSet data_;
  HalfModel model_;
  std::vector<float> exchanged_;  // gradients of both halves, then kExtraValues
  Matrix x_, y_, hidden_, outputs_, d_w1_, d_w2_;
  double left_collective_ = 0;
  float loss_ = 0;
  std::vector<double> own_ms_;
  std::vector<double> step_ms_;
};

int g_fail_code = 0;

void FailWhenTold(int fail_code) {
  if (fail_code == 0) return;
  g_fail_code = fail_code;
  struct sigaction action = {};
  action.sa_handler = [](int) { _exit(g_fail_code); };
  sigaction(SIGUSR1, &action, nullptr);
}

bool ParseFlag(const char* name, const char* value, Options* options) {
  struct {
    const char* name;
    double* number;
    long* count;
    int* size;
    std::string* text;
  } const flags[] = {
      {"--seconds", &options->seconds, nullptr, nullptr, nullptr},
      {"--pause-ms", &options->pause_ms, nullptr, nullptr, nullptr},
      {"--learning-rate", &options->learning_rate, nullptr, nullptr, nullptr},
      {"--steps", nullptr, &options->steps, nullptr, nullptr},
      {"--print-every", nullptr, &options->print_every, nullptr, nullptr},
      {"--width", nullptr, nullptr, &options->width, nullptr},
      {"--fail-code", nullptr, nullptr, &options->fail_code, nullptr},
      {"--batch", nullptr, nullptr, &options->batch, nullptr},
      {"--slow-file", nullptr, nullptr, nullptr, &options->slow_file},
      {"--own-times", nullptr, nullptr, nullptr, &options->own_times_file},
  };
  for (const auto& flag : flags) {
    if (strcmp(flag.name, name) != 0) continue;
    if (flag.number != nullptr) *flag.number = atof(value);
    if (flag.count != nullptr) *flag.count = atol(value);
    if (flag.size != nullptr) *flag.size = atoi(value);
    if (flag.text != nullptr) *flag.text = value;
    return true;
  }
  return false;
}

// False = wrong usage.
bool ParseFlags(int argc, char** argv, Options* options) {
  if (argc % 2 == 0) return false;
  for (int i = 1; i < argc; i += 2) {
    if (!ParseFlag(argv[i], argv[i + 1], options)) return false;
  }
  return options->width >= kPairSize && options->width % kPairSize == 0 && options->batch >= kChunks &&
         options->batch % kChunks == 0 && options->print_every > 0;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseFlags(argc, argv, &options)) {
    fprintf(stderr,
            "train: flags are --seconds S --steps N --slow-file FILE --pause-ms MS --width EVEN --batch MULTIPLE_OF_8\n"
            "  --learning-rate R --print-every N --own-times FILE\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  FailWhenTold(options.fail_code);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks % kPairSize != 0) {
    if (rank == 0) fprintf(stderr, "train: needs an even number of ranks, has %d\n", ranks);
    MPI_Finalize();
    return 2;
  }
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / kPairSize, rank, &pair);
  MPI_Comm_set_name(pair, "tensor-parallel pair");
  Trainer(options, rank, ranks, pair).Run();
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Main(argc, argv); }

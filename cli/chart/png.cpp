#include <png.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cli/chart/drawing.h"
#include "cli/chart/stroke_font.h"
#include "core/error.h"

namespace trainyard::cli {

namespace {

constexpr int kPixels = 2;   // a unit
constexpr int kSamples = 2;  // a pixel, each way
constexpr double kScale = kPixels * kSamples;
constexpr double kLetterWidth = 0.55;  // of the size, as sans-serif fonts have on average

class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), samples_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    std::ranges::fill(samples_, Colour{255, 255, 255});
  }

  // Even-odd, by rows of samples; points in samples.
  void fill(const std::vector<Point>& points, Colour colour) {
    double top = height_;
    double bottom = 0.0;
    for (const Point& point : points) {
      top = std::min(top, point.y);
      bottom = std::max(bottom, point.y);
    }
    const int last = std::min(height_ - 1, static_cast<int>(std::ceil(bottom)));
    for (int row = std::max(0, static_cast<int>(std::floor(top))); row <= last; ++row) {
      fill_row(points, row, colour);
    }
  }

  void line(Point a, Point b, double width, Colour colour) {
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    if (length > 0.0) {
      const Point across{-(b.y - a.y) / length * width / 2.0, (b.x - a.x) / length * width / 2.0};
      fill({{a.x + across.x, a.y + across.y},
            {b.x + across.x, b.y + across.y},
            {b.x - across.x, b.y - across.y},
            {a.x - across.x, a.y - across.y}},
           colour);
    }
    disc(a, width / 2.0, colour);
    disc(b, width / 2.0, colour);
  }

  std::vector<png_byte> pixels() const {
    std::vector<png_byte> bytes;
    for (int y = 0; y < height_; y += kSamples) {
      for (int x = 0; x < width_; x += kSamples) {
        int red = 0;
        int green = 0;
        int blue = 0;
        for (int i = 0; i < kSamples * kSamples; ++i) {
          const Colour& sample = samples_[at(x + i % kSamples, y + i / kSamples)];
          red += sample.red;
          green += sample.green;
          blue += sample.blue;
        }
        for (const int part : {red, green, blue}) {
          bytes.push_back(static_cast<png_byte>(part / (kSamples * kSamples)));
        }
      }
    }
    return bytes;
  }

 private:
  std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }

  void fill_row(const std::vector<Point>& points, int row, Colour colour) {
    const double y = row + 0.5;
    crossings_.clear();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& a = points[i];
      const Point& b = points[(i + 1) % points.size()];
      if ((a.y <= y) != (b.y <= y)) {
        crossings_.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
      }
    }
    std::ranges::sort(crossings_);
    for (std::size_t i = 0; i + 1 < crossings_.size(); i += 2) {
      const int from = std::max(0, static_cast<int>(std::ceil(crossings_[i] - 0.5)));
      const int to = std::min(width_ - 1, static_cast<int>(std::floor(crossings_[i + 1] - 0.5)));
      for (int x = from; x <= to; ++x) {
        samples_[at(x, row)] = colour;
      }
    }
  }

  void disc(Point centre, double radius, Colour colour) {
    std::vector<Point> points;
    constexpr int kCorners = 12;
    for (int i = 0; i < kCorners; ++i) {
      const double angle = 2.0 * std::numbers::pi * i / kCorners;
      points.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
    }
    fill(points, colour);
  }

  int width_;
  int height_;
  std::vector<Colour> samples_;
  std::vector<double> crossings_;
};

class Painter {
 public:
  explicit Painter(Canvas& canvas) : canvas_(canvas) {}

  void operator()(const Fill& fill) const { canvas_.fill(scaled(fill.points), fill.colour); }

  void operator()(const Stroke& stroke) const {
    const std::vector<Point> points = scaled(stroke.points);
    std::size_t dash = 0;
    double left = stroke.dashes.empty() ? INFINITY : stroke.dashes[0] * kScale;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      Point from = points[i];
      double length = std::hypot(points[i + 1].x - from.x, points[i + 1].y - from.y);
      while (length > 0.0) {
        const double part = std::min(left, length);
        const Point to{from.x + part / length * (points[i + 1].x - from.x),
                       from.y + part / length * (points[i + 1].y - from.y)};
        if (dash % 2 == 0) {
          canvas_.line(from, to, stroke.width * kScale, stroke.colour);
        }
        from = to;
        length -= part;
        left -= part;
        if (left <= 0.0) {
          dash = (dash + 1) % stroke.dashes.size();
          left = stroke.dashes[dash] * kScale;
        }
      }
    }
  }

  void operator()(const Label& label) const {
    const double unit = label.size * kLetterWidth / kLetterAdvance;
    const double length = unit * kLetterAdvance * static_cast<double>(label.text.size());
    double x = label.anchor == Anchor::kStart ? 0.0 : label.anchor == Anchor::kMiddle ? -length / 2.0 : -length;
    for (const char letter : label.text) {
      for (const std::vector<Point>& stroke : letter_strokes(letter)) {
        for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
          canvas_.line(placed(label, x, unit, stroke[i]), placed(label, x, unit, stroke[i + 1]),
                       (label.bold ? 1.9 : 1.1) * kScale, label.colour);
        }
      }
      x += unit * kLetterAdvance;
    }
  }

 private:
  static std::vector<Point> scaled(const std::vector<Point>& points) {
    std::vector<Point> result;
    for (const Point& point : points) {
      result.push_back({point.x * kScale, point.y * kScale});
    }
    return result;
  }

  static Point placed(const Label& label, double x, double unit, const Point& point) {
    // Capitals as high as 0.72 of the size, as fonts have them.
    const double across = x + unit * point.x;
    const double up = 0.72 * label.size / kCapitalHeight * (point.y - kLetterBaseline);
    return label.upwards ? Point{(label.at.x - up) * kScale, (label.at.y - across) * kScale}
                         : Point{(label.at.x + across) * kScale, (label.at.y - up) * kScale};
  }

  Canvas& canvas_;
};

}  // namespace

std::string to_png(const Drawing& drawing) {
  const int width = static_cast<int>(std::ceil(drawing.width)) * kPixels;
  const int height = static_cast<int>(std::ceil(drawing.height)) * kPixels;
  Canvas canvas(width * kSamples, height * kSamples);
  for (const auto& mark : drawing.marks) {
    std::visit(Painter(canvas), mark);
  }
  const std::vector<png_byte> pixels = canvas.pixels();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  check(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr) != 0, "the size of a PNG");
  std::string bytes(size, '\0');
  check(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) != 0, "a PNG in memory");
  bytes.resize(size);
  return bytes;
}

}  // namespace trainyard::cli

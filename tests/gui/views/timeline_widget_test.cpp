#include "gui/views/timeline_widget.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QBuffer>
#include <QImage>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalSpy>
#include <QSvgGenerator>
#include <QSvgRenderer>
#include <QTest>
#include <cmath>

#include "gui/bench/synthetic_step.h"
#include "gui/models/timeline_totals_model.h"
#include "gui/paint/slice_text.h"

namespace trainyard::gui {
namespace {

class TimelineWidgetTest : public testing::Test {
 protected:
  void SetUp() override {
    widget_.resize(1000, 400);
    widget_.set_source(synthetic_step(4, 200));
    widget_.show();
    QApplication::processEvents();
    widget_.fit_all();
  }
  void press(Qt::Key key) { QTest::keyClick(&widget_, key); }
  // The middle of a slice in the viewport.
  QPoint middle(SliceRef ref) const {
    const TimelineFrame frame = widget_.frame(widget_.viewport()->size(), false);
    const Mark& mark = widget_.rows().mark(ref);
    for (const RowPlace& place : frame.layout.places) {
      if (place.row == ref.row) {
        return {static_cast<int>(frame.x_of(static_cast<double>(mark.begin + mark.end) / 2.0)),
                static_cast<int>(place.top + place.height / 2.0)};
      }
    }
    return {};
  }
  TimelineWidget widget_;
};

TEST_F(TimelineWidgetTest, KeysZoomPanAndFit) {
  const TimeView all = widget_.view();
  press(Qt::Key_W);
  EXPECT_LT(widget_.view().span(), all.span());
  const TimeView closer = widget_.view();
  press(Qt::Key_D);
  EXPECT_GT(widget_.view().begin, closer.begin);
  EXPECT_DOUBLE_EQ(widget_.view().span(), closer.span());
  press(Qt::Key_A);
  EXPECT_NEAR(widget_.view().begin, closer.begin, 1e-6);
  press(Qt::Key_S);
  press(Qt::Key_0);
  EXPECT_NEAR(widget_.view().span(), all.span(), 1e-6);
}

TEST_F(TimelineWidgetTest, AClickSelectsASliceAndDotAndCommaStepThroughItsRow) {
  QSignalSpy selected(&widget_, &TimelineWidget::slice_selected);
  widget_.set_view({0.0, 5000.0});
  QTest::mouseClick(widget_.viewport(), Qt::LeftButton, {}, middle({0, 2}));
  ASSERT_EQ(widget_.selected(), (SliceRef{0, 2}));
  EXPECT_EQ(selected.count(), 1);
  press(Qt::Key_Period);
  EXPECT_EQ(widget_.selected(), (SliceRef{0, 3}));
  press(Qt::Key_Comma);
  press(Qt::Key_Comma);
  EXPECT_EQ(widget_.selected(), (SliceRef{0, 1}));
  press(Qt::Key_Escape);
  EXPECT_FALSE(widget_.selected());
}

TEST_F(TimelineWidgetTest, UpAndDownGoToWhatIsAtWorkInTheNextRow) {
  widget_.select_slice(SliceRef{2, 40}, true);
  const Nanoseconds begin = widget_.rows().mark({2, 40}).begin;
  press(Qt::Key_Down);
  ASSERT_TRUE(widget_.selected());
  EXPECT_EQ(widget_.selected()->row, 3U);
  EXPECT_GT(widget_.rows().mark(*widget_.selected()).end, begin);
  EXPECT_LE(widget_.rows().mark({3, widget_.selected()->mark - 1}).end, begin);
  press(Qt::Key_Up);
  EXPECT_EQ(widget_.selected()->row, 2U);
  widget_.select_slice(SliceRef{0, 0}, true);
  press(Qt::Key_Up);
  EXPECT_EQ(widget_.selected(), (SliceRef{0, 0}));
}

TEST_F(TimelineWidgetTest, NamesOfRowsAreWholeWhereThereIsRoom) {
  const QFontMetricsF metrics(widget_.font());
  const double gutter = widget_.frame(widget_.viewport()->size(), false).gutter;
  for (std::size_t row = 0; row < widget_.rows().rows().size(); ++row) {
    EXPECT_LE(metrics.horizontalAdvance(QString::fromStdString(row_name(widget_.rows(), row))), gutter - 34.0);
  }
  widget_.resize(330, 400);
  QApplication::processEvents();
  EXPECT_LE(widget_.frame(widget_.viewport()->size(), false).gutter, 0.5 * widget_.width());
}

TEST_F(TimelineWidgetTest, FCentresThenFitsTheSelectedSlice) {
  widget_.select_slice(SliceRef{1, 50}, false);
  const double span = widget_.view().span() / 4.0;
  widget_.set_view({0.0, span});
  const Mark& mark = widget_.rows().mark({1, 50});
  press(Qt::Key_F);
  EXPECT_NEAR(widget_.view().span(), span, 1e-6);
  EXPECT_NEAR((widget_.view().begin + widget_.view().end) / 2.0, static_cast<double>(mark.begin + mark.end) / 2.0, 1.0);
  press(Qt::Key_F);
  EXPECT_NEAR(widget_.view().span(), 1.1 * static_cast<double>(mark.end - mark.begin), 1.0);
}

TEST_F(TimelineWidgetTest, ADragSelectsTimeAndRows) {
  QSignalSpy changed(&widget_, &TimelineWidget::area_selected);
  const QPoint from = middle({0, 20});
  const QPoint to(from.x() + 200, from.y() + static_cast<int>(widget_.row_height()));
  QTest::mousePress(widget_.viewport(), Qt::LeftButton, {}, from);
  QMouseEvent move(QEvent::MouseMove, to, widget_.viewport()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
  QApplication::sendEvent(widget_.viewport(), &move);
  QTest::mouseRelease(widget_.viewport(), Qt::LeftButton, {}, to);
  ASSERT_TRUE(widget_.area());
  EXPECT_EQ(widget_.area()->first_row, 0U);
  EXPECT_EQ(widget_.area()->last_row, 1U);
  EXPECT_GT(widget_.area()->end, widget_.area()->begin);
  EXPECT_GE(changed.count(), 1);
}

TEST_F(TimelineWidgetTest, APinnedRowStaysAtTheTop) {
  widget_.resize(1000, 160);
  QApplication::processEvents();
  widget_.toggle_pin(6);
  const TimelineFrame frame = widget_.frame(widget_.viewport()->size(), false);
  EXPECT_EQ(frame.layout.places.front().row, 6U);
  EXPECT_TRUE(frame.layout.places.front().pinned);
  EXPECT_EQ(frame.layout.places.front().top, kTimelineAxis);
  widget_.toggle_pin(6);
  EXPECT_TRUE(widget_.pinned().empty());
}

TEST_F(TimelineWidgetTest, SearchGoesFromOneToTheNextAndRoundAgain) {
  const std::size_t found = widget_.search(QStringLiteral("reduce mb5"));
  ASSERT_GT(found, 1U);
  widget_.go_to_found(1);
  const SliceRef first = *widget_.selected();
  EXPECT_EQ(widget_.rows().slice(first).kind, InstructionKind::kReduce);
  EXPECT_EQ(widget_.rows().slice(first).microbatch, 5);
  for (std::size_t i = 1; i < found; ++i) {
    widget_.go_to_found(1);
    EXPECT_NE(widget_.selected(), first);
  }
  widget_.go_to_found(1);
  EXPECT_EQ(widget_.selected(), first);
  EXPECT_EQ(widget_.search(QStringLiteral("nosuchthing")), 0U);
}

TEST_F(TimelineWidgetTest, HasANameForThoseWhoCantSeeIt) { EXPECT_FALSE(widget_.accessibleName().isEmpty()); }

TEST_F(TimelineWidgetTest, TheTableHasTheSameTotals) {
  TimelineTotalsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set(&widget_.rows(), 1000, 30'000, 0, 3);
  EXPECT_EQ(model.rowCount(), 4);
  KindTimes expected = {};
  for (std::size_t row = 0; row < 4; ++row) {
    const KindTimes of = widget_.rows().rows()[row].pyramid->totals(1000, 30'000);
    for (std::size_t kind = 0; kind < of.size(); ++kind) {
      expected[kind] += of[kind];
    }
  }
  EXPECT_EQ(model.sum(), expected);
  model.set(nullptr, 0, 0, 0, 0);
  EXPECT_EQ(model.rowCount(), 0);
}

// Mean difference of colour channels, 0 to 255.
double difference(const QImage& a, const QImage& b) {
  double sum = 0.0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y);
      const QRgb q = b.pixel(x, y);
      sum += std::abs(qRed(p) - qRed(q)) + std::abs(qGreen(p) - qGreen(q)) + std::abs(qBlue(p) - qBlue(q));
    }
  }
  return sum / (3.0 * a.width() * a.height());
}

TEST_F(TimelineWidgetTest, TheExportedPictureIsTheOneOnTheScreen) {
  widget_.set_view({0.0, 20'000.0});
  widget_.select_slice(SliceRef{2, 4}, false);
  const QSize size = widget_.viewport()->size();
  QImage screen(size, QImage::Format_RGB32);
  {
    QPainter painter(&screen);
    widget_.paint_to(painter, false);
  }
  QByteArray file;
  QBuffer buffer(&file);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(size);
  svg.setViewBox(QRect(QPoint(0, 0), size));
  svg.setResolution(96);
  {
    QPainter painter(&svg);
    widget_.paint_to(painter, true);
  }
  QSvgRenderer renderer(file);
  ASSERT_TRUE(renderer.isValid());
  QImage again(size, QImage::Format_RGB32);
  again.fill(Qt::white);
  {
    QPainter painter(&again);
    renderer.render(&painter, QRectF(QPointF(0, 0), QSizeF(size)));
  }
  EXPECT_LT(difference(screen, again), 6.0);
  // A wide slice has its kind's colour in both.
  const QPoint inside = middle({0, 5}) + QPoint(0, -10);
  EXPECT_NEAR(qRed(screen.pixel(inside)), qRed(again.pixel(inside)), 12);
  EXPECT_NEAR(qBlue(screen.pixel(inside)), qBlue(again.pixel(inside)), 12);
}

TEST_F(TimelineWidgetTest, WithoutSlicesItIsCalm) {
  widget_.set_source({});
  press(Qt::Key_W);
  press(Qt::Key_Period);
  press(Qt::Key_F);
  QTest::mouseClick(widget_.viewport(), Qt::LeftButton, {}, QPoint(400, 100));
  EXPECT_FALSE(widget_.selected());
}

}  // namespace
}  // namespace trainyard::gui

// Inputs: the study's questions: model, machine, training, failures, search; a unit beside each field, what is wrong
// below it.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gui/session/session.h"
#include "gui/views/view.h"

class QComboBox;
class QFormLayout;
class QVBoxLayout;

namespace trainyard::gui {

// One field: its editor, its unit, and the line below that says what is wrong.
struct InputRow {
  Field field = Field::kName;
  QWidget* editor = nullptr;
  QLabel* error = nullptr;
  std::function<void(const Study&)> show;  // the study's value in the editor
  QString typed_wrong;                     // what is in the editor is no value at all
};

class InputsDock : public View {
  Q_OBJECT

 public:
  explicit InputsDock(Session& session, QWidget* parent = nullptr);

  bool has_picture() const override { return false; }
  QWidget* editor(Field field) const;
  QString error_text(Field field) const;

 private:
  struct NumberText {
    QString title;
    QString unit;
    QString tip;
    std::int64_t lowest = 1;
  };
  QFormLayout* add_group(const QString& title);
  InputRow& add_row(QFormLayout* form, Field field, const QString& title, QWidget* editor, const QString& unit,
                    const QString& tip);
  void add_number(QFormLayout* form, Field field, const NumberText& text,
                  const std::function<std::int64_t(const Study&)>& get,
                  const std::function<void(Study&, std::int64_t)>& set);
  void add_degree(QFormLayout* form, Field field, const NumberText& text,
                  const std::function<std::optional<std::int64_t>(const Study&)>& get,
                  std::function<void(Study&, std::optional<std::int64_t>)> set);
  QComboBox* add_words(QFormLayout* form, Field field, const QString& title, const QString& tip,
                       const QStringList& words, std::string Study::*member, bool file);
  void add_choice(QFormLayout* form, Field field, const QString& title, const QString& tip,
                  const std::vector<std::pair<QString, std::string>>& choices,
                  const std::function<std::string(const Study&)>& get,
                  std::function<void(Study&, const std::string&)> set);
  void add_model_and_machine();
  void add_training();
  void add_failures();
  void add_failure_time(QFormLayout* form);
  void add_limits();
  void add_price(QFormLayout* form);
  void show_study();
  void show_errors();
  void show_facts();

  Session& session_;
  QVBoxLayout* groups_ = nullptr;
  std::vector<std::unique_ptr<InputRow>> rows_;
  QLabel* model_facts_ = nullptr;
  QLabel* machine_facts_ = nullptr;
  QWidget* measure_ = nullptr;
};

}  // namespace trainyard::gui

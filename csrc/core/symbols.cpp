#include "core/symbols.h"

#include <utility>

#include "python/walk.h"

namespace pellucid {

namespace {

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xC0 | c >> 6);
    out += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += char(0xE0 | c >> 12);
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  } else {
    out += char(0xF0 | c >> 18);
    out += char(0x80 | (c >> 12 & 0x3F));
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  }
}

// Lone surrogates (file names that are not UTF-8) pass through: Python reads them back with
// "surrogatepass".
std::string to_utf8(const pellucid_text& text) {
  std::string out;
  out.reserve(size_t(text.length));
  for (Py_ssize_t i = 0; i < text.length; ++i) {
    append_utf8(out, PyUnicode_READ(text.kind, text.data, i));
  }
  return out;
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

std::string content_key(const FrameRecord& record) {
  std::string key;
  key += char(record.kind);
  key += std::to_string(record.line) + ':' + std::to_string(record.first_line) + ':';
  key += std::to_string(record.file.size()) + ':' + record.file + record.name;
  return key;
}

}  // namespace

const char* kind_name(FrameKind kind) {
  switch (kind) {
    case FrameKind::thread:
      return "thread";
    case FrameKind::python:
      return "python";
    case FrameKind::module:
      return "module";
    case FrameKind::operation:
      return "operator";
    case FrameKind::region:
      return "region";
    case FrameKind::kernel:
      return "kernel";
    case FrameKind::compile:
      return "compile";
  }
  return "";
}

FrameId Symbols::intern(FrameRecord record) {
  auto [entry, is_new] = by_content_.try_emplace(content_key(record), FrameId(frames_.size()));
  if (is_new) frames_.push_back(std::move(record));
  return entry->second;
}

FrameId Symbols::frame(FrameKind kind, std::string_view name) {
  std::lock_guard lock(mutex_);
  return intern({kind, std::string(name), ""});
}

uint8_t Symbols::traits_of(const CodeInfo& info, int flags) const {
  uint8_t traits = 0;
  if (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) traits |= suspendable;
  if (!own_folder_.empty() && info.file.starts_with(own_folder_)) traits |= ours;
  if (ends_with(info.name, "_wrapped_call_impl") &&
      ends_with(info.file, "torch/nn/modules/module.py")) {
    traits |= module_call;
  }
  bool contextlib = ends_with(info.file, "/contextlib.py");
  if (ends_with(info.name, "__enter__") || ends_with(info.name, "__aenter__")) {
    traits |= enters;
    if (contextlib) traits |= generator_driver;
  }
  if (contextlib &&
      (ends_with(info.name, "enter_context") || ends_with(info.name, "enter_async_context"))) {
    traits |= enters;  // of an ExitStack
  }
  if (ends_with(info.file, "torch/_ops.py")) traits |= dispatches;
  return traits;
}

const Symbols::CodeInfo& Symbols::info(PyCodeObject* code) {
  auto known = codes_.find(code);
  if (known != codes_.end()) return known->second;
  pellucid_code raw;
  pellucid_read_code(code, &raw);
  CodeInfo info{to_utf8(raw.name), to_utf8(raw.file), raw.first_line, 0};
  info.traits = traits_of(info, raw.flags);
  return codes_.emplace(code, std::move(info)).first->second;
}

CodeLine Symbols::code_line(PyCodeObject* code, int lasti) {
  int line = PyCode_Addr2Line(code, lasti);
  std::lock_guard lock(mutex_);
  const CodeInfo& known = info(code);
  if (line <= 0) line = known.first_line;  // instructions that belong to no line
  return {intern({FrameKind::python, known.name, known.file, line, known.first_line}),
          known.traits};
}

FrameId Symbols::module(const void* object) {
  auto address = uintptr_t(object);
  auto* type = Py_TYPE(static_cast<const PyObject*>(object));
  std::lock_guard lock(mutex_);
  auto known = modules_.find(address);
  if (known != modules_.end() && frames_[known->second].type == uintptr_t(type)) {
    return known->second;
  }
  std::string_view name = type->tp_name;
  if (auto dot = name.rfind('.'); dot != name.npos) name = name.substr(dot + 1);
  if (++module_count_ > max_modules) return intern({FrameKind::module, std::string(name), ""});
  auto id = FrameId(frames_.size());
  frames_.push_back({FrameKind::module, std::string(name), "", 0, 0, address, uintptr_t(type)});
  modules_[address] = id;
  new_modules_.push_back({id, address, uintptr_t(type)});
  if (on_new_module_) on_new_module_();
  return id;
}

void Symbols::code_died(PyCodeObject* code) {
  std::lock_guard lock(mutex_);
  if (codes_.erase(code)) epoch_.fetch_add(1, std::memory_order_release);
}

void Symbols::module_died(uintptr_t object) {
  std::lock_guard lock(mutex_);
  if (modules_.erase(object)) epoch_.fetch_add(1, std::memory_order_release);
}

std::vector<NewModule> Symbols::take_new_modules() {
  std::lock_guard lock(mutex_);
  return std::exchange(new_modules_, {});
}

}  // namespace pellucid

// Python's view of the core: conversions only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <unordered_set>
#include <utility>

#include "bindings/kernel_probe.h"
#include "capture/bridge/core_api.h"
#include "core/clock.h"
#include "core/helper.h"
#include "core/recorder.h"
#include "python/code_deaths.h"

#ifdef Py_GIL_DISABLED
#error "pellucid does not support free-threaded builds of CPython"
#endif

namespace nb = nanobind;
using namespace pellucid;

namespace {

std::atomic<Helper*> helper{nullptr};
Helper* resting_helper = nullptr;  // kept: a signal handler may be using it to its very end
PyObject* on_new_modules = nullptr;
PyObject* on_sigterm = nullptr;

// Callbacks may end the session that they belong to, so each is kept alive while it runs.
double name_new_modules() {
  nb::gil_scoped_acquire gil;
  nb::object callback = nb::borrow(on_new_modules);
  if (!callback) return 0;
  PyObject* answer = PyObject_CallNoArgs(callback.ptr());
  double pause = answer && PyFloat_Check(answer) ? PyFloat_AS_DOUBLE(answer) : 0;
  Py_XDECREF(answer);
  PyErr_Clear();
  return pause;
}

std::atomic<bool> dying{false};

void save_and_die() {
  dying = true;
  die_of_sigterm_after(10);
  nb::gil_scoped_acquire gil;
  nb::object callback = nb::borrow(on_sigterm);
  if (callback) Py_XDECREF(PyObject_CallFunction(callback.ptr(), "s", "SIGTERM"));
  PyErr_Clear();
  die_of_sigterm();
}

double work(Helper::Call call) {
  if (call == Helper::new_modules) return name_new_modules();
  save_and_die();
  return 0;
}

void wake_for_new_modules() {
  if (Helper* awake = helper) awake->call(Helper::new_modules);
}

void keep(PyObject*& slot, nb::object value) {
  PyObject* old = slot;
  slot = value.is_none() ? nullptr : value.release().ptr();
  Py_XDECREF(old);
}

// Names may hold lone surrogates.
std::string utf8(nb::handle text) {
  nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!bytes) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), size_t(PyBytes_GET_SIZE(bytes.ptr()))};
}

void start(nb::str own_folder, nb::dict thread_names, nb::object new_modules) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    throw nb::value_error("a sub-interpreter cannot be recorded");
  }
  if (Recorder::instance().recording()) throw nb::value_error("already recording");
  Recorder::ThreadNames threads;
  for (auto [ident, name] : thread_names) threads[nb::cast<uint64_t>(ident)] = utf8(name);
  auto on_death = [](PyCodeObject* code) { Recorder::instance().code_died(code); };
  if (pellucid_watch_code_deaths(on_death) < 0) throw nb::python_error();
  keep(on_new_modules, std::move(new_modules));
  Helper* started = std::exchange(resting_helper, nullptr);
  if (!started) started = new Helper(work);
  started->start();
  helper = started;
  Recorder::instance().start(utf8(own_folder), std::move(threads), wake_for_new_modules);
}

template <class T, class Get>
nb::bytes column(const std::vector<Node>& nodes, Get get) {
  std::vector<T> values(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) values[i] = get(nodes[i]);
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

// Count, sum, min, max, m2; sums in ns, m2 in ns squared.
nb::tuple stat_columns(const Recording& recording, const Stat& (Times::*stat)() const) {
  const auto& nodes = recording.nodes;
  double scale = recording.ns_per_tick;
  return nb::make_tuple(
      column<uint64_t>(nodes, [&](const Node& n) { return (n.times.*stat)().count; }),
      column<uint64_t>(
          nodes, [&](const Node& n) { return uint64_t((n.times.*stat)().sum * scale + 0.5); }),
      column<uint64_t>(nodes,
                       [&](const Node& n) {
                         const Stat& s = (n.times.*stat)();
                         return s.count ? uint64_t(double(s.min) * scale + 0.5) : 0;
                       }),
      column<uint64_t>(
          nodes, [&](const Node& n) { return uint64_t((n.times.*stat)().max * scale + 0.5); }),
      column<double>(nodes, [&](const Node& n) { return (n.times.*stat)().m2() * scale * scale; }));
}

nb::object text(const std::string& utf8) {
  return nb::steal(PyUnicode_DecodeUTF8(utf8.data(), Py_ssize_t(utf8.size()), "surrogatepass"));
}

// Names from C++ may be anything; what is no UTF-8 shows as escapes.
nb::object safe_text(const std::string& bytes) {
  PyObject* result = PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "surrogatepass");
  if (!result) {
    PyErr_Clear();
    result = PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), "backslashreplace");
  }
  return nb::steal(result);
}

nb::dict as_dict(const Recording& recording) {
  nb::list frames;
  for (const FrameRecord& f : recording.frames) {
    frames.append(
        nb::make_tuple(kind_name(f.kind), safe_text(f.name), text(f.file), f.line, f.first_line));
  }
  nb::list steps;
  for (const RecordedStep& s : recording.steps) {
    steps.append(nb::make_tuple(s.frame, s.start, s.duration));
  }
  nb::dict losses;
  for (const auto& [kind, count] : recording.losses) losses[kind.c_str()] = count;
  nb::dict result;
  result["start_ns"] = recording.start_unix_ns;
  result["wall_ns"] = recording.wall_ns;
  result["threads"] = recording.threads;
  result["frames"] = frames;
  result["parent"] = column<uint32_t>(recording.nodes, [](const Node& n) { return n.parent; });
  result["frame"] = column<uint32_t>(recording.nodes, [](const Node& n) { return n.frame; });
  result["origin"] = column<uint32_t>(recording.nodes, [](const Node& n) { return n.origin.node; });
  result["duration"] = stat_columns(recording, &Times::duration);
  result["time"] = stat_columns(recording, &Times::time);
  result["steps"] = steps;
  result["losses"] = losses;
  return result;
}

nb::dict stop() {
  if (!Recorder::instance().recording()) throw nb::value_error("not recording");
  pellucid_unwatch_code_deaths();
  unwatch_sigterm();
  Recording recording = Recorder::instance().stop();
  Helper* ended = helper.exchange(nullptr);  // nobody records any more, so nobody wakes it
  if (!dying) {                              // else it may be waiting for this to be saved
    nb::gil_scoped_release no_gil;
    if (ended->stop()) resting_helper = ended;
  }
  keep(on_new_modules, nb::none());
  return as_dict(recording);
}

// The objects of these very types that the collector knows. In one go, so that nothing of the
// program's is kept alive while the program runs.
nb::list live_instances(nb::set types, nb::object generation) {
  std::unordered_set<PyTypeObject*> wanted;
  for (nb::handle type : types) wanted.insert(reinterpret_cast<PyTypeObject*>(type.ptr()));
  nb::object objects = nb::module_::import_("gc").attr("get_objects")(generation);
  nb::list result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects.ptr()); ++i) {
    PyObject* object = PyList_GET_ITEM(objects.ptr(), i);
    if (wanted.count(Py_TYPE(object))) result.append(nb::handle(object));
  }
  return result;
}

uintptr_t begin(pellucid_kind kind, const nb::bytes& name) {
  pellucid_event event{kind, name.c_str(), -1, 0, 0};
  return reinterpret_cast<uintptr_t>(Recorder::begin(event));
}

Scope* scope_of(uintptr_t handle) { return reinterpret_cast<Scope*>(handle); }

const pellucid_api api = {PELLUCID_API_VERSION,
                          [](const pellucid_event* event) { return Recorder::begin(*event); },
                          [](pellucid_scope* scope) { Recorder::end(scope); }};

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);
  Clock::instance();
  m.def("start", &start, nb::arg("own_folder"), nb::arg("threads"), nb::arg("new_modules").none());
  m.def("stop", &stop);
  m.def("recording", [] { return Recorder::instance().recording(); });
  m.def("begin_region", [](nb::bytes name) { return begin(PELLUCID_REGION, name); });
  m.def("begin_phase", [](nb::bytes name) { return begin(PELLUCID_COMPILE, name); });
  if (add_kernel_probe(m.ptr()) < 0) throw nb::python_error();
  auto end = [](uintptr_t handle) { Recorder::end(scope_of(handle)); };
  m.def("end_region", end);
  m.def("end_phase", end);
  m.def("end_step", [](uintptr_t handle) { Recorder::instance().end_step(scope_of(handle)); });
  m.def("name_thread", [](nb::str name) { Recorder::instance().name_thread(utf8(name)); });
  m.def("take_new_modules", [] {
    nb::list result;
    for (const NewModule& module : Recorder::instance().take_new_modules()) {
      result.append(nb::make_tuple(module.frame, module.object, module.type));
    }
    return result;
  });
  m.def("live_instances", &live_instances, nb::arg("types"), nb::arg("generation").none());
  m.def("leave_out", [](uint64_t ns) { Recorder::instance().leave_out(ns); });
  m.def("module_died", [](uintptr_t object) { Recorder::instance().module_died(object); });
  m.def("watch_sigterm", [](nb::object callback) {
    keep(on_sigterm, std::move(callback));
    return helper && watch_sigterm(helper);
  });
  m.def("unwatch_sigterm", [] {
    unwatch_sigterm();
    keep(on_sigterm, nb::none());
  });
  m.def("api", [] { return reinterpret_cast<uintptr_t>(&api); });
  m.def("open_scopes", [] { return Recorder::instance().open_scopes(); });
  m.def(
      "set_clock",
      [](nb::object ns) {
        if (ns.is_none()) {
          Clock::instance().real();
        } else {
          Clock::instance().fake(nb::cast<uint64_t>(ns));
        }
      },
      nb::arg("ns").none());
}

// Renders TrainJobs from files alone, one after the other, and writes them as they come.
#include "app/render.hpp"

#include <unistd.h>

#include <string_view>

#include "api/json.hpp"
#include "api/yaml.hpp"
#include "app/manifests.hpp"
#include "app/planner.hpp"
#include "app/summary.hpp"

namespace cotrain::app {
namespace {

constexpr std::size_t jobs_with_bar_min = 200;
constexpr std::size_t bar_cells = 30;

constexpr std::string_view render_help =
    "usage: cotrain render -f FILE|FOLDER|- … [--observed FILE]… [-n NAMESPACE] [-o yaml|json|summary]\n\n"
    "Prints what the operator would apply for each TrainJob, in order, from files alone. Verdicts go to standard\n"
    "error. --observed: objects as they are in the cluster (kubectl get … -o yaml): what exists already, and the\n"
    "TrainJob's UID for owner references, which are left out where it is not known. SSH and CURVE keys are real and\n"
    "new each time.\n"
    "Exit codes: 0 done, 1 something was refused, 2 used wrongly or unreadable input.\n";
constexpr std::string_view validate_help =
    "usage: cotrain validate -f FILE|FOLDER|- … [--observed FILE]… [-n NAMESPACE]\n\n"
    "Says what the API server and the operator's admission would refuse or warn of, from files alone.\n"
    "Exit codes: 0 all accepted, 1 something was refused, 2 used wrongly or unreadable input.\n";

void write(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

class printer {
   public:
    printer(std::FILE* out, render_format format) : out_(out), format_(format) {
        if (format_ == render_format::json) write(out_, R"({"apiVersion":"v1","kind":"List","items":[)");
    }
    void print(api::arena& memory, const job_plan& plan) {
        if (format_ == render_format::none) return;
        if (format_ == render_format::summary) {
            write(out_, (count_++ == 0 ? "" : "\n") + summarise(memory, plan));
            return;
        }
        for (const auto& object : plan.objects) {
            const bool first = count_++ == 0;
            if (format_ == render_format::json) {
                write(out_, first ? "\n" : ",\n");
                write(out_, object.json);
            } else if (const auto document = api::parse_json_copy(memory, object.json)) {
                if (!first) write(out_, "---\n");
                write(out_, api::to_yaml(*document));
            }
        }
    }
    void finish() {
        if (format_ == render_format::json) write(out_, count_ == 0 ? "]}\n" : "\n]}\n");
    }

   private:
    std::FILE* out_;
    render_format format_;
    std::size_t count_ = 0;
};

// As kubectl words it, with the place in front.
void report(std::FILE* err, const manifest& m, const opinion& verdict) {
    for (const auto& text : verdict.warnings) write(err, "Warning: " + m.where + ": " + text + "\n");
    if (verdict.accepted()) return;
    std::string out = "error: " + m.where + ": The " + std::string(m.document.get("kind").as_string()) + " \"" +
                      std::string(m.document.get({"metadata", "name"}).as_string()) + "\" is invalid:";
    if (verdict.errors.size() == 1) {
        write(err, out.append(" ").append(verdict.errors.front()).append("\n"));
        return;
    }
    for (const auto& text : verdict.errors) out.append("\n* ").append(text);
    write(err, out.append("\n"));
}

void draw_bar(std::FILE* err, std::size_t done, std::size_t all) {
    const std::size_t full = done * bar_cells / all;
    std::string line = "\r[";
    line.append(full, '#').append(bar_cells - full, ' ').append("] ");
    line.append(std::to_string(done)).append("/").append(std::to_string(all));
    if (done == all) line.assign("\r").append(bar_cells + 24, ' ').append("\r");
    write(err, line);
    std::fflush(err);
}

bool has_keys(const job_plan& plan) {
    for (const auto& object : plan.objects)
        if (object.type->kind == api::names::secret.kind) return true;
    return false;
}

int unreadable(std::FILE* err, const std::string& message) {
    write(err, "error: " + message + "\n");
    return 2;
}

}  // namespace

base::result<render_options> read_render_options(arguments words, bool verdicts_only) {
    render_options out;
    if (verdicts_only) out.format = render_format::none;
    const auto wrong = [&](std::string why) {
        return base::fail(base::errc::invalid, (verdicts_only ? "validate: " : "render: ") + std::move(why));
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word(words[i]);
        if (word == "-h" || word == "--help") {
            out.help = true;
            return out;
        }
        const bool format = word == "-o" && !verdicts_only;
        if (word != "-f" && word != "--filename" && word != "--observed" && word != "-n" && word != "--namespace" &&
            !format) {
            return wrong("no option '" + word + "'; --help lists them");
        }
        if (++i == words.size()) return wrong(word + " needs a value");
        const std::string value(words[i]);
        if (word == "-f" || word == "--filename") {
            out.files.push_back(value);
        } else if (word == "--observed") {
            out.observed.push_back(value);
        } else if (!format) {
            if (value.empty()) return wrong(word + " needs a name");
            out.ns = value;
            out.ns_given = true;
        } else if (value == "yaml" || value == "json" || value == "summary") {
            out.format = value == "yaml"   ? render_format::yaml
                         : value == "json" ? render_format::json
                                           : render_format::summary;
        } else {
            return wrong("-o takes yaml, json or summary, not '" + value + "'");
        }
    }
    if (out.files.empty()) return wrong("nothing to read: give -f FILE, -f FOLDER or -f -");
    return out;
}

int render(const render_options& options, const streams& io) {
    manifests observed;
    manifests given;
    for (const auto& path : options.observed)
        if (auto read = observed.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    for (const auto& path : options.files)
        if (auto read = given.add_path(path, io.in); !read) return unreadable(io.err, read.error().message);
    planner plans(options.ns, options.ns_given);
    plans.observe(observed.list());
    plans.take(given.list());
    for (const auto& remark : plans.remarks()) write(io.err, "Warning: " + remark + "\n");
    if (const std::size_t more = plans.remarks_made() - plans.remarks().size(); more != 0)
        write(io.err, "Warning: and " + std::to_string(more) + " more objects like these\n");
    if (plans.jobs().empty() && plans.runtimes().empty())
        return unreadable(io.err, "no TrainJob and no runtime among the files");

    bool refused = false;
    for (const manifest& m : plans.runtimes()) {
        const opinion verdict = plans.judge_runtime(m.document);
        refused = refused || !verdict.accepted();
        report(io.err, m, verdict);
    }
    const bool bar = io.progress && plans.jobs().size() >= jobs_with_bar_min;
    printer out(io.out, options.format);
    api::arena memory;
    std::size_t done = 0;
    bool keys = false;
    for (const manifest& m : plans.jobs()) {
        memory.clear();
        const job_plan plan = plans.plan(memory, m, options.format != render_format::none);
        refused = refused || !plan.verdict.accepted();
        keys = keys || has_keys(plan);
        report(io.err, m, plan.verdict);
        if (plan.verdict.accepted()) out.print(memory, plan);
        if (bar && (++done % 100 == 0 || done == plans.jobs().size())) draw_bar(io.err, done, plans.jobs().size());
    }
    out.finish();
    if (keys) write(io.err, "note: keys in Secrets were made for this output; each render makes others\n");
    if (std::fflush(io.out) != 0 || std::ferror(io.out) != 0)
        return unreadable(io.err, "standard output: cannot be written to");
    return refused ? 1 : 0;
}

static int run(arguments words, bool verdicts_only) {
    const auto options = read_render_options(words, verdicts_only);
    if (!options) return used_wrongly(options.error().message);
    if (options->help) {
        write(stdout, verdicts_only ? validate_help : render_help);
        return 0;
    }
    return render(*options, {.progress = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0});
}

int run_render(arguments words) { return run(words, false); }
int run_validate(arguments words) { return run(words, true); }

}  // namespace cotrain::app

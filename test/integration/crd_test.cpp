// Our definitions on a real API server: they establish, and it judges objects exactly as the offline checker does.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "kube/client.hpp"
#include "support/run.hpp"

namespace cotrain::kube {
namespace {

namespace schema = crd;

constexpr resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
                               false};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr int questions_max = 2000;  // until a definition is served

resource resource_of(const schema::definition& of) {
    const api::resource_type& type = of.resource;
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}

// Two of the three kinds have a namespace, and all schemas there are.
const schema::definition& definition_of(std::string_view kind) {
    for (const schema::definition& each : schema::definitions()) {
        if (each.resource.kind == kind) return each;
    }
    throw std::invalid_argument(std::string{kind});
}

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> api;
    std::string ns;  // what was not there before

    explicit scene(std::string name) : ns(std::move(name)) {
        auto made = client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
    }
    void run(awaitable<void> (*body)(scene&)) { test::run(loop, play(this, body)); }

   private:
    static awaitable<void> play(scene* self, awaitable<void> (*body)(scene&)) {
        for (const schema::definition& each : schema::definitions()) {
            if (!testing::Test::HasFailure()) co_await install(self, &each);
        }
        const std::string text = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + self->ns + "\"}}";
        const auto created = co_await self->api->create(namespaces, "", text);
        EXPECT_TRUE(created.has_value()) << created.error().message;
        if (!testing::Test::HasFailure()) co_await body(*self);
        EXPECT_TRUE((co_await self->api->remove(namespaces, {.name = self->ns})).has_value());
        co_await self->api->stop();
    }

    // Applies a definition and asks until its objects are served. It stays for the whole run: one that is deleted and
    // made again is served, gone and served in no reliable order.
    static awaitable<void> install(scene* self, const schema::definition* of) {
        doc::arena memory;
        const doc::ref crd = schema::make_crd(memory, *of);
        const std::string name{crd.get({"metadata", "name"}).as_string()};
        const auto applied =
            co_await self->api->apply(definitions, {.name = name}, doc::to_json(crd), true, {.field_manager = "test"});
        EXPECT_TRUE(applied.has_value()) << (applied ? "" : applied.error().message);
        if (!applied) co_return;
        for (int i = 0; i < questions_max; ++i) {
            if (co_await self->api->list(resource_of(*of), "", {.limit = 1})) co_return;
        }
        ADD_FAILURE() << name << " is not served";
    }
};

// Whether the server takes a document, and what it says if not.
struct answer {
    bool accepted = false;
    std::string message;
    std::string body;
};

awaitable<answer> ask(scene* s, std::string document) {
    doc::arena memory;
    const auto parsed = doc::parse_json(memory, document);
    const resource of = resource_of(definition_of(parsed->get("kind").as_string()));
    auto created = co_await s->api->create(of, s->ns, document, {.dry_run = true});
    if (created) co_return answer{true, {}, std::move(created->body)};
    EXPECT_EQ(created.error().http_status, 422) << created.error().message;
    co_return answer{false, created.error().message, {}};
}

std::string train_job(std::string_view name, std::string_view members) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" +
           std::string{name} + R"("},"spec":{"runtimeRef":{"name":"rt"})" + (members.empty() ? "" : ",") +
           std::string{members} + "}}";
}
std::string runtime(std::string_view spec) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"rt"},"spec":)" +
           std::string{spec} + "}";
}

std::string repeated(std::string_view item, int times) {
    std::string list = "[";
    for (int i = 0; i < times; ++i) list += (i == 0 ? "" : ",") + std::string{item};
    return list + "]";
}

std::string numbered_env(int count) {
    std::string list = "[";
    for (int i = 0; i < count; ++i) list += (i == 0 ? R"({"name":"E)" : R"(,{"name":"E)") + std::to_string(i) + "\"}";
    return list + "]";
}

struct example {
    std::string document;
    std::string path;  // of the fault; empty = accepted
};

std::vector<example> examples() {
    const auto job = [](std::string_view members) { return train_job("job", members); };
    return {
        {train_job("a-1", ""), ""},
        {train_job(std::string(63, 'x'), ""), ""},
        {train_job(std::string(64, 'x'), ""), "<nil>"},
        {train_job("1a", ""), "<nil>"},
        {train_job("a.b", ""), "<nil>"},
        {job(R"("trainer":{"image":")" + std::string(500, 'i') + "\"}"), ""},
        {job(R"("trainer":{"image":")" + std::string(501, 'i') + "\"}"), "spec.trainer.image"},
        {job(R"("trainer":{"env":)" + numbered_env(128) + "}"), ""},
        {job(R"("trainer":{"env":)" + numbered_env(129) + "}"), "spec.trainer.env"},
        {job(R"("trainer":{"command":)" + repeated(R"("x")", 129) + "}"), "spec.trainer.command"},
        {job(R"("trainer":{"args":)" + repeated(R"("x")", 128) + "}"), ""},
        {job(R"("trainer":{"env":[{"name":"A"},{"name":"A"}]})"), "spec.trainer.env[1]"},
        {job(R"("trainer":{"env":[{"value":"x"}]})"), "spec.trainer.env[0].name"},
        {job(R"("trainer":{"numNodes":"2"})"), "spec.trainer.numNodes"},
        {job(R"("trainer":{"numNodes":3000000000})"), test::server_before(34) ? "" : "spec.trainer.numNodes"},
        {job(R"("trainer":{"numProcPerNode":"auto"})"), ""},
        {job(R"("trainer":{"numProcPerNode":"8"})"), ""},
        {job(R"("trainer":{"numProcPerNode":"many"})"), "spec.trainer.numProcPerNode"},
        {job(R"("suspend":"yes")"), "spec.suspend"},
        {job(R"("podTemplateOverrides":[{"targetJobs":[{"name":"node"}],"spec":{"tolerations":[{"key":"gpu"}]}}])"),
         ""},
        {job(R"("podTemplateOverrides":[{"spec":{}}])"), "spec.podTemplateOverrides[0].targetJobs"},
        {runtime(R"({"mlPolicy":{"torch":{},"mpi":{}}})"), "spec.mlPolicy"},
        {runtime("{}"), "spec"},
        {runtime(R"({"mlPolicy":{"torch":{"numProcPerNode":"auto"}}})"), ""},
        {runtime(R"({"mlPolicy":{"mpi":{"mpiImplementation":"Intel"}}})"), ""},
        {runtime(R"({"mlPolicy":{"mpi":{"mpiImplementation":"LAM"}}})"), "spec.mlPolicy.mpi.mpiImplementation"},
    };
}

awaitable<void> judge_examples(scene& s) {
    for (const example& e : examples()) {
        const answer said = co_await ask(&s, e.document);
        EXPECT_EQ(said.accepted, e.path.empty()) << e.document << said.message;
        EXPECT_TRUE(said.message.contains(e.path)) << e.path << " in " << said.message;
    }
}

TEST(crd, judges_examples_as_the_contract_says) { scene("crd-examples").run(judge_examples); }

// What random changes start from: much of the API in few objects.
constexpr std::string_view rich_job =
    R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job"},"spec":{)"
    R"("runtimeRef":{"name":"rt"},"activeDeadlineSeconds":5,"managedBy":"kueue.x-k8s.io/multikueue","suspend":true,)"
    R"("initializer":{"dataset":{"storageUri":"s3://a/b","env":[{"name":"A","value":"1"}],"secretRef":{"name":"s"}}},)"
    R"("trainer":{"image":"i","command":["a"],"args":["b","c"],"env":[{"name":"X","valueFrom":{"fieldRef":)"
    R"({"fieldPath":"f"}}}],"numNodes":2,"resourcesPerNode":{"limits":{"cpu":"1","memory":1}},"numProcPerNode":3},)"
    R"("runtimePatches":[{"manager":"a.b/c","time":"2026-01-02T03:04:05Z","trainingRuntimeSpec":{"template":{"spec":)"
    R"({"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{"serviceAccountName":"s",)"
    R"("volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],"containers":[{"name":"node","volumeMounts":)"
    R"([{"name":"v","mountPath":"/m"}]}],"nodeSelector":{"a":"b"},"tolerations":[{"key":"a"}]}}}}}]}}}}],)"
    R"("podTemplateOverrides":[{"targetJobs":[{"name":"node"}],"spec":{"imagePullSecrets":[{"name":"p"}]}}]}})";
constexpr std::string_view rich_runtime =
    R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"rt"},"spec":{)"
    R"("mlPolicy":{"numNodes":1,"torch":{"envInjection":{"targets":[{"jobName":"a","containerNames":["x","y"]}]}}},)"
    R"("podGroupPolicy":{"coscheduling":{},"volcano":{"networkTopology":{"mode":"soft"}}},"template":{"metadata":)"
    R"({"labels":{"a":"b"}},"spec":{"failurePolicy":{"maxRestarts":3,"rules":[{"name":"r","action":"FailJobSet"}]},)"
    R"("startupPolicy":{"startupPolicyOrder":"AnyOrder"},"volumeClaimPolicies":[{"templates":[{"metadata":{"name":"c"},)"
    R"("spec":{"resources":{"requests":{"storage":"1Gi"}}}}]}],"replicatedJobs":[{"name":"node","replicas":1,)"
    R"("dependsOn":[{"name":"o","status":"Ready"}],"template":{"spec":{"backoffLimit":3,"template":{"spec":)"
    R"({"containers":[{"name":"node","image":"i","ports":[{"containerPort":1},{"containerPort":2,"protocol":"UDP"}],)"
    R"("envFrom":[{"configMapRef":{"name":"c"}}],"livenessProbe":{"httpGet":{"port":80}}}],"volumes":[{"name":"i",)"
    R"("iscsi":{"targetPortal":"a","iqn":"b","lun":1}}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"k",)"
    R"("whenUnsatisfiable":"DoNotSchedule"}]}}}}}]}}}})";

// Prints a document with one value changed: replaced, left out, or written twice.
class mutation {
   public:
    explicit mutation(std::mt19937& random) : random_(random) {}

    std::string of(doc::ref document) {
        const doc::ref spec = document.get("spec");
        target_ = 1 + random_() % count(spec);
        std::string out = "{";
        for (const doc::member& m : document.members()) {
            out += (out.size() == 1 ? "\"" : ",\"") + std::string{m.key()} + "\":";
            if (m.key() == "spec") {
                print(spec, out);
            } else {
                doc::append_json(out, m.value);
            }
        }
        return out + "}";
    }

   private:
    static std::size_t count(doc::ref value) {
        std::size_t sum = 0;
        for (const doc::member& m : value.members()) sum += 1 + count(m.value);
        for (const doc::ref item : value.items()) sum += 1 + count(item);
        return sum;
    }

    void print(doc::ref value, std::string& out) {
        if (!value.is_container()) return doc::append_json(out, value);
        out += value.is_object() ? '{' : '[';
        bool first = true;
        for (const doc::member& m : value.members()) part("\"" + std::string{m.key()} + "\":", m.value, first, out);
        for (const doc::ref item : value.items()) part("", item, first, out);
        out += value.is_object() ? '}' : ']';
    }

    void part(const std::string& name, doc::ref value, bool& first, std::string& out) {
        const bool chosen = --target_ == 0;
        const unsigned way = chosen ? random_() % 5 : 5;
        if (way == 0) return skip(value);
        const int times = way == 1 && name.empty() ? 2 : 1;
        for (int i = 0; i < times; ++i) {
            if (!first) out += ',';
            first = false;
            out += name;
            if (chosen && way > 1) {
                out += replacement();
            } else {
                print(value, out);
            }
        }
    }
    void skip(doc::ref) { target_ = std::size_t(-1) / 2; }

    std::string_view replacement() {
        static constexpr std::array<std::string_view, 30> texts{"null",
                                                                "true",
                                                                "0",
                                                                "-1",
                                                                "101",
                                                                "2147483648",
                                                                "9223372036854775808",
                                                                "1.5",
                                                                "2.0",
                                                                R"("")",
                                                                R"("x")",
                                                                R"("node")",
                                                                R"("auto")",
                                                                R"("10")",
                                                                R"("1Gi")",
                                                                R"("1e")",
                                                                R"("a://")",
                                                                R"("2026-13-01T00:00:00Z")",
                                                                R"("2026-01-01T00:00:00Z")",
                                                                R"("InOrder")",
                                                                "[]",
                                                                "[null]",
                                                                R"([""])",
                                                                R"(["a","a"])",
                                                                R"(["node"])",
                                                                "[{}]",
                                                                R"([{"name":"a"},{"name":"b"},{"name":"a"}])",
                                                                "{}",
                                                                R"({"name":"a"})",
                                                                R"({"torch":{},"mpi":{}})"};
        return texts[random_() % texts.size()];
    }

    std::mt19937& random_;
    std::size_t target_ = 0;
};

awaitable<void> compare_with_checker(scene& s) {
    std::mt19937 random(20260101);
    int accepted = 0;
    for (int i = 0; i < 600; ++i) {
        doc::arena memory;
        const std::string text = mutation(random).of(*doc::parse_json(memory, i % 2 == 0 ? rich_job : rich_runtime));
        const auto document = doc::parse_json(memory, text);
        const schema::node& type = *schema::schema_of(document->get("kind").as_string());
        const schema::shaped shaped = schema::shape(memory, type, *document);
        const auto faults = schema::check(type, shaped.document);
        const answer said = co_await ask(&s, text);
        EXPECT_EQ(said.accepted, faults.empty()) << text << '\n' << said.message;
        if (said.accepted) {
            ++accepted;
            const auto stored = doc::parse_json(memory, said.body);
            EXPECT_TRUE(doc::equal(stored->get("spec"), shaped.document.get("spec"))) << text << '\n' << said.body;
        }
        for (const schema::violation& v : faults) {
            // The client cuts long messages.
            EXPECT_TRUE(said.message.size() >= 900 || said.message.contains(v.path)) << v.path << '\n' << said.message;
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 500);
}

TEST(crd, is_judged_offline_as_by_the_server) { scene("crd-random").run(compare_with_checker); }

// Stored objects: what may change and what may not.
struct change {
    std::string from;
    std::string to;
};

awaitable<void> compare_updates(scene& s) {
    const std::string image = R"("trainer":{"image":"a","env":[{"name":"A"},{"name":"B"}])";
    const std::vector<change> changes{
        {image + "}", image + R"(,"numNodes":3})"},
        {image + "}", R"("trainer":{"image":"a","env":[{"name":"B"},{"name":"A"}]})"},
        {image + "}", image + R"(},"suspend":true)"},
        {image + "}", ""},
        {"", image + "}"},
        {R"("activeDeadlineSeconds":1)", R"("activeDeadlineSeconds":2)"},
        {"", R"("managedBy":"kueue.x-k8s.io/multikueue")"},
    };
    const resource of = resource_of(definition_of("TrainJob"));
    const schema::node& type = *schema::schema_of("TrainJob");
    for (const change& c : changes) {
        const auto created = co_await s.api->create(of, s.ns, train_job("job", c.from));
        EXPECT_TRUE(created.has_value()) << created.error().message;
        if (!created) co_return;
        doc::arena memory;
        const doc::ref old = *doc::parse_json(memory, created->body);
        const doc::ref now = *doc::parse_json_copy(memory, train_job("job", c.to));
        std::string text = train_job("job", c.to);
        text.insert(
            text.find(R"("name")"),
            R"("resourceVersion":")" + std::string{old.get({"metadata", "resourceVersion"}).as_string()} + "\",");
        const auto updated = co_await s.api->update(of, {s.ns, "job"}, text, {.dry_run = true});
        const auto faults = schema::check(type, schema::shape(memory, type, now).document, old);
        EXPECT_EQ(updated.has_value(), faults.empty()) << c.to << (updated ? "" : updated.error().message);
        EXPECT_TRUE((co_await s.api->remove(of, {s.ns, "job"})).has_value());
    }
}

TEST(crd, judges_changes_as_the_checker_does) { scene("crd-updates").run(compare_updates); }

}  // namespace
}  // namespace cotrain::kube

// What elastic TrainJobs need of the cluster besides the operator's own gate.
#include "app/doctor/judge.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view area = "elastic";
constexpr std::string_view job_set_gate = "ElasticJobSet: true";

finding judge_rule(doc::ref version) {
    const doc::ref trainer = version.get({"schema", "openAPIV3Schema", "properties", "spec", "properties", "trainer"});
    if (trainer.get("x-kubernetes-validations").empty())
        return {.area = area, .what = "TrainJobs may change spec.trainer.numNodes"};
    return {.how = verdict::problem,
            .area = area,
            .what = "the definition of TrainJobs keeps spec.trainer as it is: no TrainJob can be scaled",
            .remedy =
                "open gate ElasticTrainJob in the chart's manager.config.featureGates, which takes the rule out "
                "of the definition"};
}

finding judge_gates(doc::ref configurations) {
    for (const doc::ref each : configurations.items()) {
        for (const doc::member& file : each.get("data").members())
            if (file.value.as_string().contains(job_set_gate))
                return {.area = area, .what = "JobSet's controller has feature gate ElasticJobSet"};
    }
    return {
        .how = verdict::advice,
        .area = area,
        .what =
            "no configuration of JobSet's controller has feature gate ElasticJobSet: without it JobSets that "
            "run keep their size",
        .remedy = "featureGates: {ElasticJobSet: true} in its ConfigMap, with JobSet v0.12 or later; then restart it"};
}

}  // namespace

findings judge_elastic(std::string_view definition, std::string_view configurations) {
    doc::arena memory;
    const auto crd = doc::parse_json(memory, definition);
    const auto list = doc::parse_json(memory, configurations);
    findings out;
    if (crd) out.push_back(judge_rule(crd->get({"spec", "versions"}).at(0)));
    if (list) out.push_back(judge_gates(list->get("items")));
    return out;
}

}  // namespace cotrain::app

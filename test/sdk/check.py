"""What a data scientist does with the Kubeflow SDK, on an API server without nodes: JobSets end as we say."""

import importlib.metadata
import time

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    TorchTuneConfig,
    TrainerClient,
    TrainerType,
)
from kubeflow.trainer import options
from kubernetes import client as kubernetes
from kubernetes import config

NAMESPACE = "team"
JOBSETS = ("jobset.x-k8s.io", "v1alpha2", NAMESPACE, "jobsets")
TRAINJOBS = ("trainer.kubeflow.org", "v1alpha1", NAMESPACE, "trainjobs")
config.load_kube_config()
api = kubernetes.CustomObjectsApi()
trainer = TrainerClient(backend_config=KubernetesBackendConfig(namespace=NAMESPACE))
checks = 0


def equal(got, wanted, what):
    global checks
    checks += 1
    assert got == wanted, f"{what}: {got!r}, not {wanted!r}"


def jobset(name):
    """The JobSet of a TrainJob, once it is there."""
    end = time.monotonic() + 120
    while True:
        try:
            return api.get_namespaced_custom_object(*JOBSETS, name)
        except kubernetes.ApiException as e:
            if e.status != 404 or time.monotonic() > end:
                raise
        time.sleep(0.05)


def ends(name, condition):
    """What JobSet's controller would write."""
    status = {
        "conditions": [
            {
                "type": condition,
                "status": "True",
                "reason": "AllJobsCompleted" if condition == "Completed" else "FailedJobs",
                "message": "as the test says",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ]
    }
    api.patch_namespaced_custom_object_status(*JOBSETS, name, {"status": status})


def container_of(job_set, job):
    for each in job_set["spec"]["replicatedJobs"]:
        if each["name"] == job:
            return each["template"]["spec"]["template"]["spec"]["containers"][0]
    raise AssertionError(f"{job_set['metadata']['name']} has no job {job}")


def environment(container):
    return {each["name"]: each.get("value") for each in container.get("env", [])}


def gone(name):
    try:
        api.get_namespaced_custom_object(*TRAINJOBS, name)
    except kubernetes.ApiException as e:
        return e.status == 404
    return False


def train():
    print("training")


def runtimes():
    found = {each.name: each.trainer for each in trainer.list_runtimes()}
    wanted = {
        "deepspeed-distributed": "deepspeed",
        "flux-distributed": "flux",
        "jax-distributed": "jax",
        "mlx-distributed": "mlx",
        "plain-distributed": "plainml",
        "torch-distributed": "torch",
        "torchtune-llama3.2-1b": "torchtune",
        "torchtune-llama3.2-3b": "torchtune",
        "torchtune-qwen2.5-1.5b": "torchtune",
        "xgboost-distributed": "xgboost",
    }
    equal({name: each.framework for name, each in found.items()}, wanted, "runtimes")
    equal(found["torchtune-llama3.2-1b"].trainer_type, TrainerType.BUILTIN_TRAINER, "torchtune's trainer")
    equal(float(found["torchtune-llama3.2-1b"].device_count), 2, "torchtune's GPUs")


def custom_trainer():
    name = trainer.train(
        runtime=trainer.get_runtime("torch-distributed"),
        trainer=CustomTrainer(
            func=train,
            num_nodes=3,
            env={"FROM": "sdk"},
            resources_per_node={"cpu": 4, "memory": "1Gi"},
            packages_to_install=["tqdm"],
        ),
        options=[
            options.Name("custom"),
            options.Labels({"team": "blue"}),
            options.Annotations({"note": "seen"}),
            options.ActiveDeadlineSeconds(3600),
            options.RuntimePatch(
                training_runtime_spec=options.TrainingRuntimeSpecPatch(
                    template=options.JobSetTemplatePatch(
                        spec=options.JobSetSpecPatch(
                            replicated_jobs=[
                                options.ReplicatedJobPatch(
                                    name="node",
                                    template=options.JobTemplatePatch(
                                        spec=options.JobSpecPatch(
                                            template=options.PodTemplatePatch(
                                                spec=options.PodSpecPatch(node_selector={"disk": "ssd"})
                                            )
                                        )
                                    ),
                                )
                            ]
                        )
                    )
                )
            ),
        ],
    )
    equal(name, "custom", "the name that was asked for")
    made = jobset(name)
    node = container_of(made, "node")
    env = environment(node)
    equal((env["PET_NNODES"], env["PET_NPROC_PER_NODE"], env["FROM"]), ("3", "4", "sdk"), "environment")
    equal("tqdm" in " ".join(node["command"]) and "training" in " ".join(node["command"]), True, "the function")
    pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]
    equal((pod["parallelism"], pod["template"]["spec"]["nodeSelector"]), (3, {"disk": "ssd"}), "nodes and patch")
    job = api.get_namespaced_custom_object(*TRAINJOBS, name)
    equal(job["metadata"]["labels"]["team"], "blue", "labels")
    equal(job["spec"]["activeDeadlineSeconds"], 3600, "deadline")
    equal("time" in job["spec"]["runtimePatches"][0], True, "the patch is stamped")
    equal(trainer.get_job(name).status, "Created", "status before the end")
    ends(name, "Completed")
    equal(trainer.wait_for_job_status(name, timeout=120, polling_interval=1).num_nodes, 3, "wait: nodes")
    return name


def builtin_trainer():
    name = trainer.train(
        runtime="torchtune-llama3.2-1b",
        initializer=Initializer(
            dataset=HuggingFaceDatasetInitializer(storage_uri="hf://team/alpaca/data", access_token="secret"),
            model=HuggingFaceModelInitializer(storage_uri="hf://team/llama"),
        ),
        trainer=BuiltinTrainer(
            config=TorchTuneConfig(
                batch_size=8, epochs=2, num_nodes=1, peft_config=LoraConfig(lora_rank=8), resources_per_node={"gpu": 1}
            )
        ),
    )
    made = jobset(name)
    equal(environment(container_of(made, "dataset-initializer"))["STORAGE_URI"], "hf://team/alpaca/data", "dataset")
    equal(environment(container_of(made, "model-initializer"))["STORAGE_URI"], "hf://team/llama", "model")
    node = container_of(made, "node")
    words = node["command"] + node.get("args", [])
    equal([each for each in ("batch_size=8", "epochs=2", "model.lora_rank=8") if each not in words], [], "arguments")
    equal("lora_finetune_single_device" in words, True, f"the recipe for one GPU in {words}")
    ends(name, "Completed")
    trainer.wait_for_job_status(name, timeout=120, polling_interval=1)
    return name


def container_trainer():
    name = trainer.train(
        runtime="jax-distributed",
        trainer=CustomTrainerContainer(image="registry.test/own:1", num_nodes=2),
        options=[options.TrainerCommand(command=["python"]), options.TrainerArgs(args=["train.py"])],
    )
    node = container_of(jobset(name), "node")
    equal((node["image"], node["command"], node["args"]), ("registry.test/own:1", ["python"], ["train.py"]), "container")
    equal(environment(node)["JAX_NUM_PROCESSES"], "2", "JAX")
    ends(name, "Failed")
    equal(trainer.wait_for_job_status(name, {"Failed"}, timeout=120, polling_interval=1).status, "Failed", "wait: failed")
    return name


def mpi_trainer():
    name = trainer.train(runtime="deepspeed-distributed", trainer=CustomTrainer(func=train, num_nodes=2))
    launcher = container_of(jobset(name), "launcher")
    equal("OMPI_MCA_orte_default_hostfile" in environment(launcher), True, "MPI's environment")
    return name


def refused():
    """A rule of the webhook reaches the user as an error of the SDK."""
    try:
        trainer.train(runtime="torch-distributed", trainer=CustomTrainer(func=train, env={"PET_NNODES": "7"}))
    except RuntimeError as e:
        equal("PET_NNODES" in str(e.__cause__), True, f"the reason of a refusal: {e.__cause__}")
    else:
        raise AssertionError("a reserved variable was taken")


runtimes()
made = [custom_trainer(), builtin_trainer(), container_trainer(), mpi_trainer()]
refused()
equal(sorted(each.name for each in trainer.list_jobs()), sorted(made), "list_jobs")
for each in made:
    trainer.delete_job(each)
    equal(gone(each), True, f"{each} is deleted")
print(f"test/sdk: kubeflow {importlib.metadata.version('kubeflow')}, {checks} checks passed")

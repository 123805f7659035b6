// Package definitions tells how large our CustomResourceDefinitions are and what their rules cost, as the API server counts it.
package definitions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

const tree = "../../../.."

// Client-side apply keeps the whole definition in an annotation, and all annotations together end at 256 KiB.
const annotationBytesMax = 256 << 10

type cost struct {
	rules, most, total uint64
	where              string // the dearest rule
}

func (c *cost) walk(t *testing.T, path string, props *apiextensions.JSONSchemaProps, at *validation.CELSchemaContext) {
	if len(props.XValidations) > 0 {
		c.add(t, path, at)
	}
	for name := range props.Properties {
		child := props.Properties[name]
		c.walk(t, path+"."+name, &child, at.ChildPropertyContext(&child, name))
	}
	if props.Items != nil && props.Items.Schema != nil {
		c.walk(t, path+"[]", props.Items.Schema, at.ChildItemsContext(props.Items.Schema))
	}
	if more := props.AdditionalProperties; more != nil && more.Schema != nil {
		c.walk(t, path+"{}", more.Schema, at.ChildAdditionalPropertiesContext(more.Schema))
	}
}

func (c *cost) add(t *testing.T, path string, at *validation.CELSchemaContext) {
	info, err := at.TypeInfo()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	// The oldest version that is supported has to understand the rules.
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 30))
	results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for i, each := range results {
		if each.Error != nil {
			t.Errorf("%s, rule %d: %s", path, i, each.Error.Detail)
		}
		times := each.MaxCardinality
		if at.MaxCardinality != nil {
			times = *at.MaxCardinality
		}
		worst := each.MaxCost * times
		c.rules++
		c.total += worst
		if worst > c.most {
			c.most, c.where = worst, "self"+path
		}
	}
}

func read(t *testing.T, file string) (*apiextensions.CustomResourceDefinition, int, int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var outer apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &outer); err != nil {
		t.Fatal(err)
	}
	var inner apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&outer, &inner, nil); err != nil {
		t.Fatal(err)
	}
	return &inner, len(text), len(json)
}

// Each definition is a row of the table in docs/scale.md, so that growth is seen where it happens.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(tree, "deploy/crds/trainer.kubeflow.org_*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	page, err := os.ReadFile(filepath.Join(tree, "docs/scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		crd, text, json := read(t, file)
		schema := crd.Spec.Validation
		if schema == nil {
			schema = crd.Spec.Versions[0].Schema
		}
		var sum cost
		sum.walk(t, "", schema.OpenAPIV3Schema, validation.RootCELContext(schema.OpenAPIV3Schema))
		if sum.most > validation.StaticEstimatedCostLimit || sum.total > validation.StaticEstimatedCRDCostLimit {
			t.Errorf("%s: rules cost %d together and %s %d", crd.Name, sum.total, sum.where, sum.most)
		}
		if json > annotationBytesMax {
			t.Errorf("%s: %d bytes of JSON do not fit the annotation of kubectl apply", crd.Name, json)
		}
		row := fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d at `%s` |", crd.Spec.Names.Plural, text, json, sum.rules, sum.total, sum.most, sum.where)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/scale.md does not have this row:\n%s", row)
		}
	}
}

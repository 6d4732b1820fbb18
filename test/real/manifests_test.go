package real

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a manifest.
type object map[string]any

// outside changes the manifests of a controller for one that runs outside of the cluster, on this
// machine: its Deployment is left out, and the Service of its webhooks stands for localhost, where
// they listen on port. The certificate of the webhooks is still that of the Service. An APIService is
// left out as well, since allot does not aggregate APIs. All else stays as it is.
func outside(manifests []object, service string, port int) (string, error) {
	var out strings.Builder
	for _, o := range manifests {
		switch o["kind"] {
		case "Deployment", "APIService":
			continue
		case "Service":
			if o.at("metadata")["name"] == service {
				o["spec"] = object{"type": "ExternalName", "externalName": "localhost"}
			}
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			for _, webhook := range o["webhooks"].([]any) {
				webhook.(object).at("clientConfig", "service")["port"] = port
			}
		case "CustomResourceDefinition":
			if o.at("spec", "conversion", "webhook") != nil {
				o.at("spec", "conversion", "webhook", "clientConfig", "service")["port"] = port
			}
		}
		line, err := json.Marshal(o)
		if err != nil {
			return "", err
		}
		out.WriteString("---\n" + string(line) + "\n")
	}
	return out.String(), nil
}

// configuration returns the configuration file of the controller, which is in a ConfigMap.
func configuration(manifests []object) (object, error) {
	for _, o := range manifests {
		text, ok := o.at("data")["controller_manager_config.yaml"].(string)
		if o["kind"] != "ConfigMap" || !ok {
			continue
		}
		var out object
		err := yaml.Unmarshal([]byte(text), &out)
		return out, err
	}
	return nil, errors.New("no ConfigMap has the configuration")
}

// parse returns the objects of a stream of manifests.
func parse(manifests string) ([]object, error) {
	var out []object
	for in := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var o object
		err := in.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
}

// at returns the object at a path, or nil if there is none.
func (o object) at(path ...string) object {
	for _, key := range path {
		o, _ = o[key].(object)
	}
	return o
}

// put adds fields to the object at a key, which it creates if there is none.
func (o object) put(fields object, key string) {
	if o.at(key) == nil {
		o[key] = object{}
	}
	maps.Copy(o.at(key), fields)
}

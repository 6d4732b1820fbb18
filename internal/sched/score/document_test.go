package score

import (
	"fmt"
	"strings"
)

var levelNames = [levels]string{
	levelAuthor: "1. the pod's author", levelDevices: "2. devices", levelSiblings: "3. default spread", levelUse: "4. use",
}

var dependencyNames = [dependencies]string{
	onNode: "the node and its pods", onCandidates: "the other candidates", onPods: "pods of other nodes",
	onDevices: "free devices of the node", onPacking: "gang or single pod", onSiblings: "pods of the same set or Services",
	onImages: "images of the nodes",
}

// document returns the table of preferences as the document has it.
func document() string {
	text := "| level | preferred | weight | depends on | ranking is kept |\n| --- | --- | --- | --- | --- |\n"
	for i := range preferences {
		p := &preferences[i]
		weight, kept, names := "", "yes", []string{}
		if p.weight > 0 {
			weight = fmt.Sprint(p.weight)
		}
		for _, d := range p.dependsOn {
			names = append(names, dependencyNames[d])
			if d == onCandidates || d == onPods {
				kept = "no"
			}
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", levelNames[p.level], p.name, weight, strings.Join(names, ", "),
			kept)
	}
	return text
}

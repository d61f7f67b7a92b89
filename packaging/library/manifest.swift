// The package of the library alone: scripts/deb.sh adds these lines to the manifest of the whole project.
var names: Set<String> = []
var pending = package.products.compactMap { $0 as? Product.Library }.flatMap(\.targets)
while let name = pending.popLast() {
    guard names.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
    for case .byNameItem(let dependency, _) in target.dependencies { pending.append(dependency) }
}
package.targets.removeAll { !names.contains($0.name) }
package.products.removeAll { !($0 is Product.Library) }
package.dependencies = []
package.traits = []

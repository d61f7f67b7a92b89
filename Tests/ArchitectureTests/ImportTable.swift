/// The imports that each target may have, according to the table in `docs/architecture.md`.
struct ImportTable {
    struct Row: Equatable {
        var layer: Int
        var target: String
        /// The targets of this package that the row's target may import.
        var targets: Set<String>
        /// The modules of other packages and of the system that the row's target may import.
        var modules: Set<String>
    }

    var rows: [Row]

    /// The modules without effects, which every target may import. CDispatch counts as one only because the compiler
    /// attributes declarations of the C library to it.
    static let free: Set<String> = ["CDispatch", "Foundation", "Synchronization", "_Concurrency"]

    /// The modules that come with the toolchain, so that a manifest does not name them.
    static let system: Set<String> = ["Dispatch", "FoundationNetworking", "Glibc", "Musl"]

    init(rows: [Row]) {
        self.rows = rows
    }

    /// Reads the only table in `markdown` whose first columns are headed `Layer` and `Target`.
    init(markdown: String) {
        rows = []
        var inTable = false
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                inTable = false
                continue
            }
            let cells = line.split(separator: "|").map { $0.trimming(while: \.isWhitespace) }
            guard cells.count == 5 else { continue }
            if cells[0] == "Layer" && cells[1] == "Target" {
                inTable = true
            } else if inTable, cells[0].hasPrefix("L"), let layer = Int(cells[0].dropFirst()) {
                for target in Self.names(in: cells[1]).sorted() {
                    rows.append(
                        Row(
                            layer: layer, target: target, targets: Self.names(in: cells[3]),
                            modules: Self.names(in: cells[4])))
                }
            }
        }
    }

    func row(of target: String) -> Row? {
        rows.first { $0.target == target }
    }

    /// Returns the `imports` that `target` must not have.
    func forbidden(_ imports: some Sequence<String>, in target: String) -> Set<String> {
        guard let row = row(of: target) else { return Set(imports) }
        // Static builds find the same C library under its other name.
        let modules = row.modules.contains("Glibc") ? row.modules.union(["Musl"]) : row.modules
        return Set(imports).subtracting(row.targets).subtracting(modules).subtracting(Self.free)
    }

    /// The allowed imports of a target that is not below the row's target, or that does not exist.
    var misdirected: [String] {
        rows.flatMap { row in
            row.targets.sorted().compactMap { name in
                guard let other = self.row(of: name) else { return "\(row.target) -> \(name): no such target" }
                return other.layer < row.layer ? nil : "\(row.target) -> \(name): not a lower layer"
            }
        }
    }

    /// Returns all modules that a program links by linking `target`: those of the target and of all targets below it.
    func linked(by target: String) -> Set<String> {
        var seen: Set<String> = []
        var pending = [target]
        var modules: Set<String> = []
        while let next = pending.popLast() {
            guard seen.insert(next).inserted, let row = row(of: next) else { continue }
            modules.formUnion(row.modules)
            pending.append(contentsOf: row.targets)
        }
        return modules
    }

    /// Returns the names in backquotes in a cell.
    private static func names(in cell: Substring) -> Set<String> {
        Set(cell.matches(of: /`([^`]+)`/).map { String($0.output.1) })
    }
}

extension Substring {
    func trimming(while predicate: (Character) -> Bool) -> Substring {
        var result = drop(while: predicate)
        while let last = result.last, predicate(last) { result.removeLast() }
        return result
    }
}

import Foundation

/// The environment that all parts of the benchmark share.
struct Bench {
    let options: Options
    let disk: Workspace
    let memory: Workspace
    let origin: Origin

    func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("nightshift-bench: \(text)\n".utf8))
    }

    /// Starts a service in a new and empty home.
    func service(in workspace: Workspace, home: String = "home") throws -> Service {
        try Service(binaries: options.binaries, home: try workspace.empty(home), log: workspace.log)
    }

    /// Starts the services to be measured, each in an empty home: this version, and the earlier one if given.
    func services(in workspace: Workspace) throws -> [(name: String, service: Service)] {
        let service = try service(in: workspace)
        guard let earlier else { return [("nightshift", service)] }
        do {
            return [("nightshift", service), (Self.earlierName, try earlier.service(in: workspace, home: "earlier"))]
        } catch {
            service.stop()
            throw error
        }
    }

    static let earlierName = "nightshift, earlier"

    /// The same environment with the programs of the earlier version; nil if none is given.
    var earlier: Bench? {
        guard let binaries = options.earlier else { return nil }
        var options = options
        options.binaries = binaries
        options.earlier = nil
        return Bench(options: options, disk: disk, memory: memory, origin: origin)
    }

    /// Restarts the service with its existing home.
    func restart(_ service: Service) throws -> Service {
        try Service(binaries: options.binaries, home: service.home, log: disk.log)
    }
}

/// The costs of several programs, collected round by round.
struct Rounds {
    private(set) var names: [String] = []
    private var costs: [String: [Cost]] = [:]
    private var broken: [String: String] = [:]

    /// Runs each program once per round, alternately. A first round is not counted.
    mutating func measure(
        _ count: Int, _ programs: [(name: String, run: () throws -> Cost)], note: (String) -> Void
    ) {
        names = programs.map(\.name)
        for round in 0...count {
            for program in programs where broken[program.name] == nil {
                do {
                    let cost = try program.run()
                    if round > 0 { costs[program.name, default: []].append(cost) }
                } catch {
                    broken[program.name] = "\(error)"
                    note("\(program.name) is left out: \(error)")
                }
            }
        }
    }

    func isBroken(_ name: String) -> Bool { broken[name] != nil }

    func median(_ name: String, _ value: (Cost) -> Double) -> Double { (costs[name] ?? []).map(value).median }

    /// Returns the median over the rounds of the ratio of `name` to `other`.
    func ratio(_ name: String, to other: String, _ value: (Cost) -> Double) -> Double {
        zip(costs[name] ?? [], costs[other] ?? []).map { value($0) / value($1) }.median
    }
}

import Foundation

/// A measurement of how often an idle service is woken.
struct Idle {
    let bench: Bench

    func run() throws -> Section {
        let seconds = bench.options.quick ? 15.0 : 600.0
        var section = Section(
            title: "An idle service",
            method:
                "Measured for \(Int(seconds)) s, after one finished transfer and 40 s in which its connections are closed, from `/proc` and not through the API: how often any "
                + "thread of the service slept and was woken, and its CPU time.",
            header: ["", "Wake-ups per minute", "CPU ms per minute", "Threads", "MiB"])
        bench.note("idle for \(Int(seconds)) s")
        try Workspace.fill("\(bench.origin.root)/one.bin", size: 1 << 20, seed: 4)
        let service = try bench.service(in: bench.disk)
        defer { service.stop() }
        let directory = try bench.disk.empty("out")
        _ = try service.run(["get", "\(bench.origin.plain)/one.bin", "-d", directory], limit: 30)
        Thread.sleep(forTimeInterval: 40)

        let (switches, cpu) = (try service.view.voluntarySwitches(), try service.view.cpu())
        Thread.sleep(forTimeInterval: seconds)
        let perMinute = Double(try service.view.wakeUps(since: switches)) * 60 / seconds
        let busy = (try service.view.cpu() - cpu) * 60 / seconds
        section.rows.append([
            "nightshiftd", Format.number(perMinute, 1), Format.number(busy * 1000, 0),
            String(try service.view.threads()),
            Format.mebibytes(try service.view.memory()),
        ])
        section.headlines.append(
            Section.Headline(
                what: "The idle service",
                result: "\(Format.number(perMinute, 1)) wake-ups per minute, "
                    + "\(Format.mebibytes(try service.view.memory())) MiB"))
        section.findings.append(
            Section.Finding(
                aim: "no wake-ups", measured: "\(Format.number(perMinute, 1)) per minute", isMet: perMinute == 0))
        return section
    }
}

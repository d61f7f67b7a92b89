import CNightshift
import Clock
import Executors
import Foundation
import Glibc
import Mounts
package import NightshiftAPI
import Synchronization

extension SystemProcessHost {
    package func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity {
        let (isShutDown, taken) = state.withLock { state in
            (state.isShutDown, Set(state.processes.values.compactMap(\.group)))
        }
        guard !isShutDown else { throw LaunchFailure(reason: EAGAIN, "The service is stopping") }
        let program = try findProgram(of: plan)
        guard !nightshift_lacks_descriptors() else {
            throw LaunchFailure("\(plan.app) cannot be launched", code: errno)
        }
        let output = AppOutput(paths, app: plan.app, log: plan.log, limit: plan.logLimit)
        let descriptor = try output.open()
        defer { close(descriptor) }
        try keep(output)
        let begun = open(output.begun, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard begun >= 0 else { throw LaunchFailure("The file \(output.begun) cannot be opened", code: errno) }
        defer { close(begun) }
        let (started, group) = try start(program, plan, output: descriptor, begun: begun, besides: taken)
        guard let identity = ProcessIdentity.of(started.pid, bootID: bootID),
            host(identity, group: group, waiting: Waiting(gate: started.gate, program: program))
        else {
            close(started.gate)
            Glibc.kill(started.pid, SIGKILL)
            waitpid(started.pid, nil, 0)
            throw LaunchFailure(reason: EMFILE, "The service could not watch for the end of the process of \(plan.app)")
        }
        return identity
    }

    /// Finds the program of a launch in the way the kernel does, and checks its directory. A file system that does not
    /// respond would block the new process, and with it the service.
    private func findProgram(of plan: LaunchPlan) throws(LaunchFailure) -> String {
        let path: String
        let search = ExecutableSearch(environment: plan.environment, fileSystems: fileSystems)
        switch search.find(plan.program) {
        case .program(let found): path = found
        case .silence(let silent): throw .silence(silent)
        case .nothing:
            throw LaunchFailure(reason: ENOENT, search.absence(of: plan.program))
        }
        for (path, isProgram) in [(path, true), (plan.directory, false)] {
            guard fileSystems.answer(path, { isProgram ? FileLook.read(path) : FileLook.open(path) }) != nil else {
                throw .silence(path)
            }
        }
        return path
    }

    package func begin(_ process: ProcessIdentity) throws(LaunchFailure) {
        let waiting = state.withLock { state -> Waiting? in
            guard state.waiting[process]?.phase == .atGate else { return nil }
            state.waiting[process]?.phase = .beginning
            return state.waiting[process]
        }
        guard let waiting else { return }
        let result = nightshift_launch_begin(waiting.gate)
        let end = state.withLock { state -> ProcessEnd? in
            let end = state.waiting.removeValue(forKey: process)?.end
            if result != 0, end == nil {
                state.waiting[process] = Waiting(gate: -1, program: waiting.program, phase: .failed)
            }
            return end
        }
        guard result == 0 else { throw LaunchFailure("\(waiting.program) cannot be executed", code: result) }
        if let end { continuation.yield((process, end)) }
    }

    package func hadBegun(_ process: ProcessIdentity, of app: AppID) -> Bool {
        guard process.bootID == bootID else { return true }
        let descriptor = open(AppOutput.begun(paths, app), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        // An earlier version of the service launched the process without this file.
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var written: Int32 = 0
        return pread(descriptor, &written, MemoryLayout<Int32>.size, 0) == MemoryLayout<Int32>.size
            && written == process.pid
    }

    package func adopt(_ process: ProcessIdentity) -> Bool {
        if state.withLock({ $0.processes[process] != nil }) { return true }
        guard process.bootID == bootID, let statistics = ProcessStatistics(of: process.pid),
            statistics.startTime == process.startTime, !statistics.isZombie
        else {
            // Child processes of the ended process may still be alive. An earlier run of the service may have stopped
            // them and failed to resume them.
            if process.bootID == bootID { process.signalGroup(SIGCONT) }
            return false
        }
        let group = groups?.group(ofProcess: process.pid)
        guard host(process, group: group, waiting: nil) else { return false }
        // The previous run of the service and its guardian may both have been killed before they could thaw the group.
        _ = group?.thaw()
        if statistics.isStopped(as: process.pid) { process.signalGroup(SIGCONT) }
        return true
    }

    package func keepLog(of app: AppID, log: String, limit: Int64) {
        let output = AppOutput(paths, app: app, log: log, limit: limit)
        // If an earlier version of the service launched the app, the app writes to the log directly.
        guard output.hasWriters else { return }
        // If this fails, the app blocks once its FIFO is full, until its next launch or the next start of the service.
        try? keep(output)
    }

    private func keep(_ output: AppOutput) throws(LaunchFailure) {
        let result = state.withLock { state -> Result<Void, LaunchFailure> in
            guard !state.isShutDown else { return .success(()) }
            do throws(LaunchFailure) {
                return .success(try state.keepers.ensure(output))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Starts watching a process. Returns false if that fails or the pid belongs to another process.
    private func host(_ process: ProcessIdentity, group: ControlGroup?, waiting: Waiting?) -> Bool {
        let pidfd = nightshift_pidfd_open(process.pid)
        guard pidfd >= 0 else { return false }
        let isHosted = state.withLock { state in
            // The start time is compared again, because from here on the descriptor certainly refers to one process.
            guard !state.isShutDown, ProcessStatistics(of: process.pid)?.startTime == process.startTime else {
                return false
            }
            state.lastToken += 1
            let token = state.lastToken
            state.processes[process] = Hosted(identity: process, group: group, pidfd: pidfd, token: token)
            state.identities[token] = process
            guard state.watcher.add(pidfd, token: token) else {
                state.forget(process)
                return false
            }
            state.waiting[process] = waiting
            return true
        }
        if !isHosted { close(pidfd) }
        return isHosted
    }

    /// Starts the process in a unit of systemd, or else in a separate cgroup. If that cgroup cannot be used, the process
    /// runs without it and is suspended by signals.
    private func start(
        _ program: String, _ plan: LaunchPlan, output: Int32, begun: Int32, besides taken: Set<ControlGroup>
    ) throws(LaunchFailure) -> (Started, ControlGroup?) {
        if let units {
            let started = try startUnit(units, program, plan, output: output, begun: begun)
            return (started, groups?.group(ofProcess: started.pid))
        }
        // This tries twice, because the cgroup of an earlier process may be removed at the same time.
        for _ in 0..<2 {
            guard let group = groups?.group(of: plan.app, besides: taken) else { break }
            do {
                return (try Self.start(program, plan, output: output, begun: begun, group: group), group)
            } catch {
                group.removeIfEmpty()
                guard error.step == nightshift_launch_cgroup else { throw error.failure }
            }
        }
        do {
            return (try Self.start(program, plan, output: output, begun: begun, group: nil), nil)
        } catch {
            throw error.failure
        }
    }

    /// A started process that waits at its exec barrier.
    private struct Started {
        var pid: pid_t = 0
        var gate: Int32 = -1
    }

    private struct FailedStart: Error {
        let step: nightshift_launch_step
        let failure: LaunchFailure
    }

    private static func start(
        _ program: String, _ plan: LaunchPlan, output: Int32, begun: Int32, group: ControlGroup?
    ) throws(FailedStart) -> Started {
        let processes = group?.openProcesses() ?? -1
        defer {
            if processes >= 0 { close(processes) }
        }
        guard group == nil || processes >= 0 else {
            throw FailedStart(step: nightshift_launch_cgroup, failure: LaunchFailure("cgroup", code: errno))
        }
        return try start(program, plan, output: output, begun: begun, cgroup: processes) {
            nightshift_launch($0, $1, $2, $3)
        }
    }

    /// Starts the process in a unit of systemd. The unit's program is the service's own, which receives the launch
    /// through a socket that is its standard input.
    private func startUnit(
        _ units: AppUnits, _ program: String, _ plan: LaunchPlan, output: Int32, begun: Int32
    ) throws(LaunchFailure) -> Started {
        var sockets: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &sockets) == 0 else {
            throw LaunchFailure("\(plan.app) cannot be launched", code: errno)
        }
        defer { close(sockets[0]) }
        let name = AppUnits.name(of: plan.app, home: home)
        let refusal = units.start(name, "\(plan.app.rawValue), launched by Nightshift", AppUnits.arguments, sockets[1])
        close(sockets[1])
        if let refusal {
            throw LaunchFailure(reason: EAGAIN, "systemd cannot start a unit for \(plan.app): \(refusal)")
        }
        do {
            return try Self.start(program, plan, output: output, begun: begun, cgroup: -1) {
                nightshift_launch_send(sockets[0], $0, $1, $2, $3)
            }
        } catch {
            unitQueue.add { units.remove(name) }
            throw error.failure
        }
    }

    /// Starts a process with a function that has the parameters of `nightshift_launch`.
    private static func start(
        _ program: String, _ plan: LaunchPlan, output: Int32, begun: Int32, cgroup: Int32,
        _ launch: (
            UnsafePointer<nightshift_launch>, UnsafeMutablePointer<pid_t>, UnsafeMutablePointer<Int32>,
            UnsafeMutablePointer<Int32>
        ) -> Int32
    ) throws(FailedStart) -> Started {
        var started = Started()
        var step: Int32 = 0
        let words = [plan.program] + plan.arguments
        let variables = plan.environment.map { "\($0.key)=\($0.value)" }
        let result = withCStrings(words) { arguments in
            withCStrings(variables) { environment in
                program.withCString { program in
                    plan.directory.withCString { directory in
                        var settings = nightshift_launch(
                            program: program, arguments: arguments, environment: environment, directory: directory,
                            output: output, begun: begun, cgroup: cgroup,
                            mask: plan.fileCreationMask.map { Int32($0) } ?? -1,
                            open_files: plan.openFiles.map { Int64(clamping: $0) } ?? -1)
                        return launch(&settings, &started.pid, &started.gate, &step)
                    }
                }
            }
        }
        guard result != 0 else { return started }
        let failedStep = nightshift_launch_step(rawValue: UInt32(step))
        let what =
            switch failedStep {
            case nightshift_launch_directory: "The directory \(plan.directory) cannot be entered"
            case nightshift_launch_cgroup: "The process cannot be moved to its cgroup"
            default: "\(program) cannot be started"
            }
        throw FailedStart(step: failedStep, failure: LaunchFailure(what, code: result))
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = strings.map { strdup($0) } + [nil]
        defer {
            for pointer in pointers { free(pointer) }
        }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            // The buffer is never empty, because its last element is nil.
            body(buffer.baseAddress!)
        }
    }
}

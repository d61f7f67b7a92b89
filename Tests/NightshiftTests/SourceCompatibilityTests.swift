import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct SourceCompatibilityTests {
    @Test func `T7: Apple's listings make a background session whose task reaches the service`() async {
        await #expect(processExitsWith: .success) {
            let world = try World.ofThisProcess()
            let controller = ViewController()
            let task = controller.start()
            try #require(controller.urlSession is BackgroundURLSession)
            try #require(task is BackgroundDownloadTask)
            let sent = try #require(world.service.state.read { $0.requests[1] })
            try #require(sent.request.countOfBytesClientExpectsToReceive == 512_000)
            try #require(sent.request.earliestBeginDate != nil)
            let configuration = try #require(controller.urlSession.configuration as? BackgroundConfiguration)
            try #require(configuration.identifier == "MySession" && configuration.isDiscretionary)
            try #require(configuration.waitsForConnectivity && !configuration.allowsExpensiveNetworkAccess)
            try #require(configuration.sharedContainerIdentifier == "group.example")
            // The library does not change sessions that are not background sessions.
            let plain = URLSession(configuration: .default, delegate: controller, delegateQueue: nil)
            try #require(!(plain is BackgroundURLSession))
            // The cases are an implicit member, a second session with the same identifier, and the explicit
            // initialiser.
            let implicit = URLSession(
                configuration: .background(withIdentifier: "z"), delegate: controller, delegateQueue: nil)
            try #require(implicit is BackgroundURLSession && implicit !== controller.urlSession)
            try #require(URLSession(configuration: .background(withIdentifier: "z")) === implicit)
            let typed: URLSessionConfiguration = .background(withIdentifier: "typed")
            let explicit = BackgroundURLSession(configuration: typed, delegate: controller, delegateQueue: .main)
            try #require(explicit.configuration.identifier == "typed" && explicit.delegateQueue === OperationQueue.main)
            exit(EXIT_SUCCESS)
        }
    }

    @Test func `L2: Apple's listing holds a background task open while its work runs`() async {
        await #expect(processExitsWith: .success) {
            let world = try World.ofThisProcess()
            let gate = DispatchSemaphore(value: 0)
            DataSender { _ in gate.wait() }.sendDataToServer(data: Data())
            try await world.service.state.wait(for: "the task") { $0.backgroundTasks == [1: "Finish Network Tasks"] }
            gate.signal()
            try await world.service.state.wait(for: "its end") { $0.backgroundTasks.isEmpty }
            exit(EXIT_SUCCESS)
        }
    }

    /// The exit handler of this test runs after the library's, which was registered later, and checks what that has
    /// done.
    @Test func `T7: An exiting app sends its never-resumed tasks to the service`() async throws {
        await #expect(processExitsWith: .exitCode(3)) {
            _ = try World.ofThisProcess()
            atexit {
                let isHandedOver = World.own.read { $0?.world.service.state.read { $0.requests[1]?.request.suspended } }
                World.removeOwn()
                _exit(isHandedOver == true ? 3 : 4)
            }
            let session = URLSession(configuration: .background(withIdentifier: "z"))
            _ = session.downloadTask(with: url())
            exit(EXIT_SUCCESS)
        }
    }

    /// C libraries fork such children, which execute no program and do not have the threads of their parent.
    @Test func `T7: A forked child of an app exits without sending requests to the service`() async {
        await #expect(processExitsWith: .success) {
            let world = try World.ofThisProcess()
            let session = URLSession(configuration: .background(withIdentifier: "z"))
            _ = session.downloadTask(with: url())
            let symbol = try #require(dlsym(nil, "fork"))
            let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
            let child = fork()
            if child == 0 { exit(EXIT_SUCCESS) }
            var status: Int32 = -1
            do {
                try await eventually("the child's end", within: .seconds(60)) {
                    waitpid(child, &status, WNOHANG) == child
                }
            } catch {
                kill(child, SIGKILL)
                throw error
            }
            let isUnheard = world.service.state.read { $0.requests.isEmpty }
            try #require(status == 0 && isUnheard)
        }
    }

    @Test func `T7: The copy of a configuration is independent`() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "x")
        configuration.timeoutIntervalForResource = 5
        configuration.sessionSendsLaunchEvents = false
        let copy = try #require(configuration.copy() as? BackgroundConfiguration)
        configuration.timeoutIntervalForResource = 6
        #expect(copy.timeoutIntervalForResource == 5)
        #expect(copy.identifier == "x")
        #expect(!copy.sessionSendsLaunchEvents)
        #expect(copy.urlCache == nil)
        #expect(copy.timeoutIntervalForRequest == 60)
    }
}

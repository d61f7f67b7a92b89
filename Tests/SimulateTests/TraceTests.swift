import NightshiftAPI
import Testing

struct TraceTests {
    @Test func `B3: The parser reads each kind of line and fills in the defaults`() throws {
        let trace = try Trace(
            parsing: """
                # A comment, and an empty line.

                {"trace": {"start": "2026-03-01T12:00:00Z", "policy": "contiguous:300", "lead": 2, "transfers": 3}}
                {"at": 0, "device": {"power": "battery", "battery": 80, "idle": true, "expensive": "no"}, "bytesPerSecond": 500}
                {"at": "07:30", "app": "a.b", "declare": {"launch": 2, "endsTasks": false, "policy": "opportunistic:30"}}
                {"at": "07:30:01", "app": "a.b", "use": "front"}
                {"at": "1d 00:00", "app": "a.b", "task": {"name": "sync", "seconds": 7.5}}
                {"at": 86400.0004, "app": "a.b", "transfer": {"bytes": 10, "discretionary": true, "cellular": false}}
                {"at": 86401, "request": "doze"}
                {"at": "2d 00:00", "end": true}
                """)
        #expect(trace.lines.map(\.at) == [0, 0, 27_000, 27_001, 86_400, 86_400, 86_401, 172_800])
        let settings = try #require(trace.lines[0].settings)
        #expect(settings.start == 1_772_366_400 && settings.expirationLead == 2 && settings.maximumTransfers == 3)
        #expect(settings.backgroundPolicy == BackgroundPolicy(.contiguous, seconds: 300))
        #expect(trace.lines[1].device == [.power: "battery", .battery: "80", .idle: "yes", .expensive: "no"])
        #expect(trace.lines[1].bytesPerSecond == 500)
        let behaviour = try #require(trace.lines[2].behaviour)
        #expect(behaviour.launch == 2 && !behaviour.endsTasks && behaviour.wake == AppBehaviour().wake)
        #expect(behaviour.backgroundPolicy == .brief)
        #expect(trace.lines[3].use == .front)
        #expect(trace.lines[4].task == TracedTask(name: "sync", seconds: 7.5))
        let transfer = try #require(trace.lines[5].transfer)
        #expect(transfer.bytes == 10 && transfer.count == 1 && transfer.wakesApp)
        #expect(transfer.rules.discretion == .full && !transfer.rules.allowsCellularAccess)
        #expect(trace.lines[6].request == .dozing)
        #expect(trace.lines[7].isEnd)
    }

    @Test(
        arguments: [
            ("nonsense", "the line is not a JSON object"),
            ("[1]", "JSON object"),
            (#"{"at": 1"#, "the line is not a JSON object"),
            (#"{"device": {"idle": true}}"#, "'at' is missing"),
            (
                #"{"at": -1, "end": true}"#,
                "'at' must be 0 to 31622400 seconds (366 days) from the start, not -1"
            ),
            (#"{"at": 1e9, "end": true}"#, "not 1000000000"),
            (#"{"at": 0, "at": 5, "end": true}"#, "The key 'at' is given twice"),
            (#"{"at": 0, "device": {"power": "battery", "power": "external"}}"#, "The key 'power' is given twice"),
            (#"{"at": "25:00", "end": true}"#, "'at' must be seconds"),
            (#"{"at": 0, "at2": 1}"#, "a line has no key 'at2'"),
            (#"{"at": 0}"#, "the line has no event"),
            (#"{"at": 0, "use": "front"}"#, "needs 'app'"),
            (#"{"at": 0, "app": "a", "end": true}"#, "leave 'app' out"),
            (#"{"at": 0, "app": "a", "use": "fornt"}"#, "one of front, background, quit, forceQuit"),
            (#"{"at": 0, "app": "a", "use": "front", "task": {"seconds": 1}}"#, "several events (use, task)"),
            (#"{"at": 0, "device": {}}"#, "must contain at least one condition"),
            (#"{"at": 0, "device": {"batery": 3}}"#, "'device' has no key 'batery'; its keys are power"),
            (#"{"at": 0, "device": {"battery": 130}}"#, "must be a percentage from 0 to 100, or none, not '130'"),
            (#"{"at": 0, "device": {"interface": [1]}}"#, "not 'an object'"),
            (#"{"at": 0, "bytesPerSecond": 0}"#, "'bytesPerSecond' must be a number from 1"),
            (#"{"at": 0, "request": "sleep"}"#, "one of doze, window, wake"),
            (#"{"at": 0, "app": "a", "declare": {"policy": "lazy"}}"#, "'policy' must be contiguous or opportunistic"),
            (#"{"at": 0, "app": "a", "declare": {"launch": "soon"}}"#, "'launch' must be a number from 0"),
            (#"{"at": 0, "app": "a", "task": {"name": "x"}}"#, "'seconds'"),
            (#"{"at": 0, "transfer": {"host": "h"}}"#, "'bytes'"),
            (#"{"at": 0, "transfer": {"bytes": 1.5}}"#, "'bytes' must be an integer"),
            (#"{"at": 0, "transfer": {"bytes": 1, "cellular": 3}}"#, "'cellular' must be true or false"),
            (#"{"trace": {"start": "yesterday"}}"#, "'start' must be a time such as"),
            (#"{"at": 5, "trace": {}}"#, "'at' is 0"),
        ])
    func `B3: The error for a wrong value lists the allowed values`(line: String, words: String) {
        #expect {
            try Trace(parsing: "# comment\n\n" + line)
        } throws: { error in
            guard let error = error as? TraceSyntaxError else { return false }
            return error.line == 3 && error.message.contains(words)
        }
    }

    @Test(
        arguments: [
            (#"{"at": 5, "request": "doze"}"# + "\n" + #"{"at": 4, "request": "wake"}"#, "sort the lines by 'at'"),
            (#"{"at": 5, "end": true}"# + "\n" + #"{"at": 6, "request": "wake"}"#, "the trace has already ended"),
            (#"{"at": 0, "request": "doze"}"# + "\n" + #"{"trace": {}}"#, "only allowed in the first line"),
        ])
    func `B3: The parser has a separate error for a line that is out of order`(text: String, words: String) {
        #expect {
            try Trace(parsing: text)
        } throws: { error in
            guard let error = error as? TraceSyntaxError else { return false }
            return error.line == 2 && error.message.contains(words)
        }
    }
}

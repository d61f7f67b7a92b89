import NightshiftAPI
import Sessions
import Testing

/// Tests of apps' answers to challenges of servers, and of the tasks that each answer applies to.
@Suite struct ChallengeAnswersTests {
    private static let task = TaskID(1)
    private static let credential = Credential(user: "a", password: "b")

    private static func challenge(_ method: Challenge.Method, isProxy: Bool = false) -> Challenge {
        var challenge = Challenge(method: method, host: "h", port: 443, scheme: "https")
        challenge.isProxy = isProxy
        return challenge
    }

    private static func answer(
        _ disposition: MessageAnswer.Disposition, _ change: (inout MessageAnswer) -> Void = { _ in }
    ) -> MessageAnswer {
        var answer = MessageAnswer(message: 1, disposition: disposition)
        change(&answer)
        return answer
    }

    private static func kept(
        _ answer: MessageAnswer, to challenge: Challenge, leafDigest: String? = nil
    ) throws(Problem) -> ChallengeAnswers {
        var answers = ChallengeAnswers()
        try answers.keep(answer, to: challenge, leafDigest: leafDigest, of: task)
        return answers
    }

    @Test(arguments: [Challenge.Method.basic, .digest])
    func `A credential is stored for its origin, and separately for a proxy`(method: Challenge.Method) throws {
        let answer = Self.answer(.useCredential) { $0.credential = Self.credential }
        var answers = try Self.kept(answer, to: Self.challenge(method))
        #expect(answers.byOrigin["https://h:443"]?.credential == Self.credential)
        answers = try Self.kept(answer, to: Self.challenge(method, isProxy: true))
        #expect(answers.byOrigin.keys.sorted() == ["proxy https://h:443"])
        #expect(throws: Problem.self) { try Self.kept(Self.answer(.useCredential), to: Self.challenge(method)) }
    }

    @Test func `An answer for one proxy does not apply to another`() throws {
        var (first, second) = (Self.challenge(.basic, isProxy: true), Self.challenge(.basic, isProxy: true))
        first.host = "a"
        second.host = "b"
        let answer = Self.answer(.useCredential) { $0.credential = Self.credential }
        let answers = try Self.kept(answer, to: first)
        #expect(answers.byOrigin[first.origin]?.credential == Self.credential)
        #expect(answers.byOrigin[second.origin] == nil)
    }

    @Test(
        arguments: [
            ("http://a:3128", "proxy http://a:3128"), ("http://bob:pw@a:3128", "proxy http://a:3128"),
            ("http://bob:80@a", "proxy http://a:1080"), ("http://a:80", "proxy http://a:80"),
            ("https://[::1]", "proxy https://[::1]:443"), ("socks5h://a:1080", nil), ("", nil),
        ] as [(String, String?)])
    func `A proxy's challenges are identified by its address`(url: String, origin: String?) {
        #expect(Challenge.origin(ofProxy: url) == origin)
        #expect(Challenge(method: .digest, ofProxy: url)?.origin == origin)
    }

    @Test func `A client certificate is the absolute path of a file`() throws {
        let answer = Self.answer(.useCredential) {
            $0.clientCertificate = "/c.pem"
            $0.clientKey = "/k.pem"
        }
        let kept = try Self.kept(answer, to: Self.challenge(.clientCertificate)).byOrigin["https://h:443"]
        #expect(kept?.clientCertificate == "/c.pem" && kept?.clientKey == "/k.pem")
        let relative = Self.answer(.useCredential) { $0.clientCertificate = "c.pem" }
        #expect(throws: Problem.self) { try Self.kept(relative, to: Self.challenge(.clientCertificate)) }
    }

    @Test func `Only the presented certificate becomes trusted`() throws {
        let challenge = Self.challenge(.serverTrust)
        let kept = try Self.kept(Self.answer(.useCredential), to: challenge, leafDigest: "ab")
        let answer = try #require(kept.byOrigin["https://h:443"])
        #expect(answer.answers(challenge, leafDigest: "ab", besides: OriginAnswer()))
        #expect(!answer.answers(challenge, leafDigest: "cd", besides: OriginAnswer()))
        #expect(!answer.answers(challenge, leafDigest: "ab", besides: answer), "it was shown that already")
        #expect(throws: Problem.self) { try Self.kept(Self.answer(.useCredential), to: challenge) }
    }

    @Test func `An answer to continue without a credential applies only to its task`() throws {
        let basic = try Self.kept(Self.answer(.performDefaultHandling), to: Self.challenge(.basic))
        #expect(basic.asksAbout(Self.task).isDisjoint(with: [.basic, .digest]))
        #expect(basic.asksAbout(TaskID(2)) == Set(Challenge.Method.allCases))
        for disposition in [MessageAnswer.Disposition.performDefaultHandling, .rejectProtectionSpace] {
            let trust = try Self.kept(Self.answer(disposition), to: Self.challenge(.serverTrust))
            #expect(trust.asksAbout(Self.task) == Set(Challenge.Method.allCases).subtracting([.serverTrust]))
        }
    }

    @Test(arguments: [MessageAnswer.Disposition.continueLoading, .cancel])
    func `The table refuses an answer that does not fit any challenge`(disposition: MessageAnswer.Disposition) {
        #expect(throws: Problem.self) { try Self.kept(Self.answer(disposition), to: Self.challenge(.basic)) }
    }

    @Test func `A stored credential answers each task that has not used the credential yet`() {
        var answer = OriginAnswer()
        let challenge = Self.challenge(.basic)
        #expect(!answer.answers(challenge, leafDigest: nil, besides: OriginAnswer()))
        answer.credential = Self.credential
        #expect(answer.answers(challenge, leafDigest: nil, besides: OriginAnswer()))
        #expect(!answer.answers(challenge, leafDigest: nil, besides: answer))
    }

    // MARK: - Requests

    private static func request(_ numbers: [Int64], clientData: String? = nil) -> SessionEnqueueRequest {
        SessionEnqueueRequest(
            tasks: numbers.map { number in
                var task = SessionTaskRequest(taskIdentifier: number, request: TaskRequest(url: "https://h/"))
                task.clientData = clientData
                return task
            })
    }

    @Test func `Each app numbers its own tasks`() throws {
        try Self.request([1, 2, Limits.taskIdentifier]).check()
        for numbers in [[], [1, 1], [0], [Limits.taskIdentifier + 1]] as [[Int64]] {
            #expect(throws: Problem.self) { try Self.request(numbers).check() }
        }
        let long = String(repeating: "x", count: Limits.clientDataLength + 1)
        #expect(throws: Problem.self) { try Self.request([1], clientData: long).check() }
    }

    @Test func `An upload's source is read through the descriptor of its process`() {
        var task = SessionTaskRequest(taskIdentifier: 1, request: TaskRequest(url: "https://h/"))
        task.sourceDescriptor = 5
        #expect(task.opened(by: 7).source == nil, "a download sends nothing")
        task.request.kind = .upload
        #expect(task.opened(by: 7).source == "/proc/7/fd/5" && task.opened(by: 7).snapshot == .copy)
    }
}

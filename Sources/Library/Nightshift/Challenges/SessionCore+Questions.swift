import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Passes the service's challenges and questions to the app. The library continues to deliver other messages while the
/// delegate decides.
extension SessionCore {
    func ask(_ task: any BackgroundTask, _ message: SessionMessage) {
        guard let asked = message.challenge else {
            answer(MessageAnswer(message: message.id, disposition: .performDefaultHandling))
            return
        }
        task.core.apply(message.task)
        let proposed = defaultCredential(for: asked)
        let reply = ChallengeReply { [self] disposition, credential in
            if disposition == .performDefaultHandling, let proposed, asked.previousFailureCount == 0 {
                answer(MessageAnswer(message: message.id, asked, .useCredential, proposed))
            } else {
                answer(MessageAnswer(message: message.id, asked, disposition, credential))
            }
        }
        let url = task.currentRequest?.url
        let response = asked.response.flatMap { summary in url.flatMap { BackgroundURLResponse(summary, url: $0) } }
        let challenge = URLAuthenticationChallenge(
            asked, proposed: proposed, response: response ?? task.response, reply: reply)
        if delegate == nil { reply.resolve(.performDefaultHandling, nil) }
        callDelegate { session, delegate in
            let taskDelegate = delegate as? any URLSessionTaskDelegate
            guard asked.method.concernsConnection else {
                guard let taskDelegate else { return reply.resolve(.performDefaultHandling, nil) }
                taskDelegate.urlSession(session, task: task, didReceive: challenge) { reply.resolve($0, $1) }
                return
            }
            // If the delegate does not implement the session's method, the default implementation requests default
            // handling. In that case, the task's method is called.
            delegate.urlSession(session, didReceive: challenge) { [self] disposition, credential in
                guard disposition == .performDefaultHandling, let taskDelegate else {
                    return reply.resolve(disposition, credential)
                }
                onDelegateQueue {
                    taskDelegate.urlSession(session, task: task, didReceive: challenge) { reply.resolve($0, $1) }
                }
            }
        }
    }

    /// Returns the credential that the session's credential storage has for the challenge.
    private func defaultCredential(for asked: Challenge) -> URLCredential? {
        guard !asked.method.concernsConnection, let storage = configuration.urlCredentialStorage else { return nil }
        return storage.defaultCredential(matching: BackgroundProtectionSpace(asked))
    }

    func askBeforeBeginning(_ task: any BackgroundTask, _ message: SessionMessage) {
        task.core.apply(message.task)
        guard let delegate = delegate as? any URLSessionDelayedRequestDelegate, let request = task.originalRequest
        else {
            answer(MessageAnswer(message: message.id, disposition: .continueLoading))
            return
        }
        callDelegate { [self] session, _ in
            delegate.urlSession(session, task: task, willBeginDelayedRequest: request) { [self] disposition, request in
                var answer = MessageAnswer(message: message.id, disposition: .continueLoading)
                switch disposition {
                case .cancel: answer.disposition = .cancel
                case .continueLoading: break
                case .useNewRequest:
                    if let request { answer.setRequest(request, for: task.core, configuration) }
                @unknown default: break
                }
                self.answer(answer)
            }
        }
    }

    private func answer(_ answer: MessageAnswer) {
        requests.add { [self] in
            do {
                try connection.notify(.answer(answer, inSession: identifier), timeout: Self.requestTimeout)
            } catch let problem as Problem where problem.isAboutContent && answer.disposition != .cancel {
                // The service rejected the answer, and the task still waits for an answer. The task is therefore
                // cancelled.
                Notice.print(
                    "A transfer of the session \(identifier) was cancelled, because the service rejected the app's answer: "
                        + (problem.detail ?? problem.title))
                return self.answer(MessageAnswer(message: answer.message, disposition: .cancel))
            } catch is Problem {
                // The service no longer waits for an answer to this question.
            } catch {
                if !isOver { self.answer(answer) }
                return
            }
            state.withLock { $0.machine.answered(answer.message) }
        }
    }
}

extension Challenge.Method {
    /// Whether the challenge concerns the connection instead of a single request. For such a challenge, the delegate's
    /// session method is called first.
    fileprivate var concernsConnection: Bool { self == .serverTrust || self == .clientCertificate }
}

extension MessageAnswer {
    /// Creates the message that carries the delegate's answer to a challenge to the service.
    fileprivate init(
        message: Int64, _ challenge: Challenge, _ disposition: URLSession.AuthChallengeDisposition,
        _ credential: URLCredential?
    ) {
        switch disposition {
        case .useCredential: self.init(message: message, challenge, credential)
        case .performDefaultHandling: self.init(message: message, disposition: .performDefaultHandling)
        case .cancelAuthenticationChallenge: self.init(message: message, disposition: .cancel)
        case .rejectProtectionSpace: self.init(message: message, disposition: .rejectProtectionSpace)
        @unknown default: self.init(message: message, disposition: .performDefaultHandling)
        }
    }

    private init(message: Int64, _ challenge: Challenge, _ credential: URLCredential?) {
        self.init(message: message, disposition: .useCredential)
        switch challenge.method {
        case .serverTrust:
            // A credential of any kind means that the app trusts the server. Without a credential, the system's
            // evaluation applies.
            if credential == nil { disposition = .performDefaultHandling }
        case .basic, .digest:
            if let user = credential?.user, let password = credential?.password {
                self.credential = Credential(
                    user: user, password: password, scheme: challenge.method == .basic ? .basic : .digest)
            } else {
                disposition = .performDefaultHandling
            }
        case .clientCertificate:
            if let certificate = credential as? ClientCertificateCredential {
                clientCertificate = certificate.certificateFile.path(percentEncoded: false)
                clientKey = certificate.keyFile?.path(percentEncoded: false)
            } else {
                if credential != nil {
                    Notice.print(
                        "Make client certificates for background sessions with "
                            + "URLCredential.clientCertificate(file:keyFile:).")
                }
                disposition = .performDefaultHandling
            }
        }
    }

    /// Sets the new request that the delegate chose for a delayed task.
    fileprivate mutating func setRequest(
        _ request: URLRequest, for task: TaskCore, _ configuration: BackgroundConfiguration
    ) {
        var new = TaskRequest(kind: task.kind)
        new.copyProperties(of: request, cookiesOf: configuration)
        self.request = new
        clientData = RequestNote(request)?.text
        let note = clientData
        task.state.withLock { state in
            state.originalRequest = request
            state.note = note
        }
    }
}

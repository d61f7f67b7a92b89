import Clock
import Executors
import Glibc
import Mounts
import NightshiftAPI
import Store

/// The steps on files whose bytes have all arrived. Each step sends its result to the run of the file, and returns the
/// run's next actions. The result is nil if the service stops before another file system responds; the row then shows
/// how far the task is.
extension TransferFiles {
    /// Examines a file that has all bytes.
    func arrived(_ job: Publisher.Job) async -> FinishStep? {
        let found = await run(at: job.place, .finish, job.path) {
            (
                size: FileIdentity(descriptor: job.descriptor)?.size,
                hasHoles: PartialStorage.hasHoles(job.descriptor, size: job.run.length)
            )
        }
        return found.map { found in
            FinishStep(job) { $0.arrived(size: found.size, hasHoles: found.hasHoles, now: clock.now()) }
        }
    }

    /// Compares the file's digests, and decodes the file if it has a content coding.
    func verify(
        _ job: Publisher.Job, asked: Checksum?, announced: [Checksum], coding: ContentCoding?, random: () -> Double
    ) async -> FinishStep? {
        let result = await run(at: job.place, .hash, job.path, on: disks.hash) {
            Verification.verify(
                descriptor: job.descriptor, asked: asked, announced: announced,
                coding: coding.map { coding in (coding, { partials.freshPath(for: job.record) }) }
            ) { disks.stopping.value != 0 }
        }
        guard let result else { return nil }
        var job = job
        if case .success(let finding) = result, let file = finding.decoded?.file {
            close(job.descriptor, at: job.place)
            job.descriptor = file.descriptor
        }
        let now = clock.now()
        return FinishStep(job) { $0.verified(result.map { $0.file(bootID: now.bootID) }, now: now, random: random) }
    }

    /// Syncs the data of files and chooses their names.
    func prepare(
        _ jobs: [Publisher.Job], at place: FileSystemKey?, random: () -> Double
    ) async -> [FinishStep]? {
        let prepared = await run(at: place, .finish, jobs.first?.path ?? "", on: disks.finish) {
            publisher.prepare(jobs)
        }
        let now = clock.now()
        return prepared?.map { FinishStep($0, now: now, random: random) }
    }

    /// Gives files their names, which are already committed.
    func publish(_ ready: [Publisher.Prepared], at place: FileSystemKey?) async -> [FinishStep]? {
        let outcomes = await run(at: place, .finish, ready.first?.publication.to ?? "", on: disks.finish) {
            publisher.publish(ready)
        }
        let now = clock.now()
        return outcomes?.map { FinishStep($0, now: now) }
    }

    /// Opens a file at its current path.
    func reopen(_ job: Publisher.Job, _ publication: Publication) async -> FinishStep? {
        let found = await run(at: job.place, .finish, publication.from) { () -> (Int32, Bool?) in
            let descriptor = open(publication.from, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { return (descriptor, nil) }
            let inode = FileStanding(descriptor: descriptor)?.inode
            return (descriptor, inode.map(publication.mayName) ?? false)
        }
        guard let (descriptor, isSame) = found else { return nil }
        var job = job
        job.descriptor = descriptor
        return FinishStep(job) { $0.reopened(isSame: isSame) }
    }

    /// Removes the files that steps no longer need.
    func remove(_ steps: [FinishStep]) async {
        for step in steps where !step.remains.isEmpty {
            guard let place = step.job.place else { continue }
            systems.post(place, .files, step.job.path) { partials.remove(step.remains) }
        }
        let own = steps.filter { $0.job.place == nil }.flatMap(\.remains)
        guard !own.isEmpty else { return }
        await disks.finish.run { partials.remove(own) }
    }

    /// Finds how far a finishing task is, whose work a crash or a full disk has interrupted.
    func settle(_ record: TaskRecord, at place: FileSystemKey?) async -> FinishStep? {
        let (run, now) = (FinishRun(record: record), clock.now())
        if let publication = record.publication {
            let found = await self.run(at: place, .finish, publication.to) {
                publisher.inspect(publication, of: record)
            }
            return found.map { finding, descriptor in
                FinishStep(Publisher.Job(run: run, descriptor: descriptor, place: place)) {
                    $0.found(finding, now: now)
                }
            }
        }
        let found = await self.run(at: place, .finish, record.partial?.path ?? "") {
            record.partial.flatMap { partials.open($0, bootID: now.bootID).file }
        }
        return found.map { file in
            FinishStep(Publisher.Job(run: run, descriptor: file?.descriptor ?? -1, place: place)) {
                $0.found(count: file?.count, isDivided: file?.segments != nil, now: now)
            }
        }
    }
}

// Shows what the readiness check answers.
fetch('/health/ready')
  .then((response) => response.json())
  .then(({ status, postgres, redis }) => {
    document.getElementById('health').textContent = `${status} (Postgres: ${postgres}, Redis: ${redis})`
  })
